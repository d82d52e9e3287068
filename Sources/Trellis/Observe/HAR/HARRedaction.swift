import CurlEngine
import HTTPTypes

/// The removal of secrets from the requests and responses of a HAR document. The rules are those of ``SecretFields`` and
/// ``URLRedaction``; text that is without secrets stays as it is.
package enum HARRedaction {
    /// The text in the place of secrets.
    package static let mark = "REDACTED"

    /// The names of secret members of JSON objects, in lower case, in addition to those of ``SecretFields``.
    private static let secretMembers: Set<String> = ["pass", "pwd", "authorization", "cookie"]

    /// Removes the secrets of a request: user information and secret items of the URL, secret fields, secret items of a form in the body,
    /// and texts under secret names in a body of JSON.
    package static func redact(_ request: inout HARDocument.Request) {
        request.url = URLRedaction.redact(request.url)
        for index in request.headers.indices { redact(&request.headers[index]) }
        if let body = request.postData, body.encoding == nil, let text = body.text {
            let (redacted, comment) = redact(text, type: body.mimeType)
            request.postData?.text = redacted
            if let comment { request.postData?.comment = comment }
        }
        request.derive()
    }

    /// Removes the secrets of a response: secret fields, and texts under secret names in a body of JSON.
    package static func redact(_ response: inout HARDocument.Response) {
        for index in response.headers.indices { redact(&response.headers[index]) }
        if response.content.encoding == nil, let text = response.content.text {
            let (redacted, comment) = redact(text, type: response.content.mimeType)
            response.content.text = redacted
            if let comment { response.content.comment = comment }
        }
        response.derive()
    }

    /// Removes the secret of a field. The names of cookies and their attributes are kept.
    package static func redact(_ field: inout HARDocument.Field) {
        switch field.name.lowercased() {
        case "cookie": field.value = HARCookies.redacted(sent: field.value)
        case "set-cookie": field.value = HARCookies.redacted(received: field.value)
        case let lowercased:
            guard let name = HTTPField.Name(field.name) else {
                if SecretFields.marksSecret(lowercased) { field.value = mark }
                break
            }
            var sent = HTTPField(name: name, value: field.value)
            if field.isMarkedSecret { sent.indexingStrategy = .disallow }
            let redacted = SecretFields.redacted(sent)
            if !redacted.hasSameBytes(as: sent.value) { field.value = redacted }
        }
        field.isMarkedSecret = false
    }

    /// Returns a text without secrets, and a remark if a part of it is left out because it may hold some.
    private static func redact(_ text: String, type: String) -> (text: String, remark: String?) {
        let media = MediaType(type)
        if media?.essence == "application/x-www-form-urlencoded" { return (redactedItems(text), nil) }
        let isJSON = isJSON(media)
        guard isJSON || beginsAsJSON(text) else {
            return (type.isEmpty ? redactedItems(text) : text, nil)
        }
        let (redacted, isComplete) = JSONRewriter.rewritten(text, replacing: secretTexts())
        if isComplete { return (redacted, nil) }
        return isJSON ? (redacted, "the rest is not JSON, and is left out because it may hold secrets") : (text, nil)
    }

    /// Returns the beginning of a body without secrets, for a message. The rest of a text that is no JSON from some byte on stays as it is,
    /// because the message is about such bodies.
    ///
    /// - Parameter type: The `Content-Type` of the body; empty if it has none.
    static func excerpt(_ text: String, type: String) -> String {
        let media = MediaType(type)
        if media?.essence != "application/x-www-form-urlencoded", isJSON(media) || beginsAsJSON(text) {
            return JSONRewriter.rewrittenAsFarAsPossible(text, replacing: secretTexts())
        }
        return media == nil || media?.essence == "application/x-www-form-urlencoded" ? redactedItems(text) : text
    }

    private static func isJSON(_ media: MediaType?) -> Bool {
        media.map { $0.subtype.hasByteSuffix("json") || $0.subtype == "jsonl" } ?? false
    }

    private static func beginsAsJSON(_ text: String) -> Bool {
        let first = text.utf8.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    private static func redactedItems(_ text: String) -> String {
        String(decoding: URLRedaction.redactItems(text.utf8), as: UTF8.self)
    }

    /// Returns the function that puts a mark in the place of every text of JSON under a secret name.
    private static func secretTexts() -> JSONRewriter.Replacement {
        var known: [String: Bool] = [:]
        return { path, kind in
            guard kind == .string else { return nil }
            let isSecret = path.contains { component in
                guard case .key(let name) = component else { return false }
                if let isSecret = known[name] { return isSecret }
                let isSecret = isSecretMember(name)
                known[name] = isSecret
                return isSecret
            }
            return isSecret ? "\"\(mark)\"" : nil
        }
    }

    /// Returns whether the name of a member marks its text as a secret. The type of a token is none (RFC 6749, section 5.1).
    private static func isSecretMember(_ name: String) -> Bool {
        let name = name.lowercased()
        return secretMembers.contains(name) || SecretFields.marksSecret(name) && !name.hasByteSuffix("type")
    }
}
