import CurlEngine
import FoundationEssentials

/// The removal of secrets from bodies: secret items of forms, secret parts of multipart bodies, and texts and numbers under secret
/// names in JSON.
/// Bytes that are without secrets stay as they are.
package enum BodyRedaction {
    /// The text in the place of secrets.
    package static let mark = "REDACTED"

    /// The names of secret members of JSON objects, in lower case, in addition to the names in ``SecretFields``.
    private static let secretMembers: Set<String> = ["pass", "pwd", "authorization", "cookie"]

    /// Returns the bytes of a body without secrets, and a remark if a part of it is left out because it may hold some. The secrets of a
    /// body that is not UTF-8 are only known if it is JSON, multipart, or a form, which it may be without a valid type.
    ///
    /// - Parameter type: The `Content-Type` of the body; empty if it has none.
    package static func redacted(_ body: Data, type: String) -> (body: Data, remark: String?) {
        if MultipartRedaction.isMultipart(type) { return MultipartRedaction.redacted(body, type: type) }
        guard let text = String(validating: body, as: UTF8.self) else {
            let media = MediaType(type)
            if isJSON(media) { return redactedJSON(body, type: type) }
            return (media == nil || isForm(media) ? Data(URLRedaction.redactItems(body)) : body, nil)
        }
        let (redacted, remark) = redacted(text, type: type)
        return (Data(redacted.utf8), remark)
    }

    /// Returns JSON that is not UTF-8 without secrets, as if each byte were a character: secret names are ASCII in most other encodings.
    private static func redactedJSON(_ body: Data, type: String) -> (body: Data, remark: String?) {
        let text = String(String.UnicodeScalarView(body.map { Unicode.Scalar($0) }))
        let (redacted, remark) = redacted(text, type: type)
        return (Data(redacted.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }), remark)
    }

    /// Returns a text without secrets, and a remark if a part of it is left out because it may hold some.
    package static func redacted(_ text: String, type: String) -> (text: String, remark: String?) {
        if MultipartRedaction.isMultipart(type) {
            let (body, remark) = MultipartRedaction.redacted(Data(text.utf8), type: type)
            return (String(decoding: body, as: UTF8.self), remark)
        }
        let media = MediaType(type)
        if isForm(media) { return (redactedItems(text), nil) }
        let isJSON = isJSON(media)
        guard isJSON || beginsAsJSON(text) else {
            return (media == nil ? redactedItems(text) : text, nil)
        }
        let (redacted, isComplete) = JSONRewriter.rewritten(
            text, replacingStringsWith: "\"\(mark)\"", where: secretNames(isSecretMember),
            numbersWhere: secretNames(isNameOfSecretNumber))
        if isComplete { return (redacted, nil) }
        // Other text stays as it is, unless it begins with JSON that has secrets: the body may be cut at the limit of the recorder.
        guard isJSON || !text.utf8.starts(with: redacted.utf8) else {
            return (media == nil ? redactedItems(text) : text, nil)
        }
        return (redacted, "the rest is not JSON, and is left out because it may hold secrets")
    }

    /// Returns the beginning of a body without secrets, for a message. The rest of a text that is no JSON from some byte on stays as it is,
    /// because the message is about such bodies. An ellipsis follows a multipart body that lacks a part.
    ///
    /// - Parameter type: The `Content-Type` of the body; empty if it has none.
    static func excerpt(_ text: String, type: String) -> String {
        if MultipartRedaction.isMultipart(type) {
            let (redacted, remark) = redacted(text, type: type)
            return remark == nil ? redacted : redacted + "…"
        }
        let media = MediaType(type)
        if !isForm(media), isJSON(media) || beginsAsJSON(text) {
            return JSONRewriter.rewrittenAsFarAsPossible(
                text, replacingStringsWith: "\"\(mark)\"", where: secretNames(isSecretMember),
                numbersWhere: secretNames(isNameOfSecretNumber))
        }
        return media == nil || isForm(media) ? redactedItems(text) : text
    }

    /// Returns a text without the secrets that it has by its type, and with `REDACTED` for the values of secret items, whatever its type.
    package static func shown(_ text: String, type: String) -> String {
        String(decoding: URLRedaction.redactItems(excerpt(text, type: type).utf8), as: UTF8.self)
    }

    private static func isForm(_ media: MediaType?) -> Bool {
        media?.essence == "application/x-www-form-urlencoded"
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

    /// Returns a function that tells the names of secrets in JSON. It looks at each name once.
    private static func secretNames(_ judge: @escaping JSONRewriter.Mark) -> JSONRewriter.Mark {
        var known: [String: Bool] = [:]
        return { name in
            if let isSecret = known[name] { return isSecret }
            let isSecret = judge(name)
            known[name] = isSecret
            return isSecret
        }
    }

    /// Returns whether the name of a member marks its text as a secret. The type of a token is none (RFC 6749, section 5.1).
    private static func isSecretMember(_ name: String) -> Bool {
        let name = name.lowercasedASCII()
        return secretMembers.contains(name) || SecretFields.marksSecret(name) && !name.hasByteSuffix("type")
    }

    /// Returns whether the name of a member marks its number as a secret. Many numbers are about secrets, such as `token_expires_in` and
    /// `prompt_tokens`.
    private static func isNameOfSecretNumber(_ name: String) -> Bool {
        let name = name.lowercasedASCII()
        return secretMembers.contains(name) || SecretFields.endsAsSecret(name)
    }
}
