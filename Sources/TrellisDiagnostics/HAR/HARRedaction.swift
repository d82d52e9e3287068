import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The removal of secrets from the requests and responses of a HAR document, by the rules of ``SecretFields``, ``URLRedaction``
/// and ``BodyRedaction``. Text without secrets stays as it is.
package enum HARRedaction {
    /// Removes the secrets of a request: user information and secret items of the URL, secret fields, secret items or parts of a form in
    /// the body, and texts and numbers under secret names in a body of JSON.
    package static func redact(_ request: inout HARDocument.Request) {
        request.url = URLRedaction.redact(request.url)
        for index in request.headers.indices { redact(&request.headers[index]) }
        if let body = request.postData, let text = body.text {
            let (redacted, encoding, comment) = redacted(text, body.encoding, type: body.mimeType)
            request.postData?.text = redacted
            request.postData?.encoding = encoding
            if let comment { request.postData?.comment = comment }
        }
        request.derive()
    }

    /// Removes the secrets of a response: secret fields, secret items or parts of a form in the body, and texts and numbers under secret
    /// names in a body of JSON. Bytes without a type stay as they are.
    package static func redact(_ response: inout HARDocument.Response) {
        for index in response.headers.indices { redact(&response.headers[index]) }
        let content = response.content
        if let text = content.text, content.encoding == nil || !content.mimeType.isEmpty {
            let (redacted, encoding, comment) = redacted(text, content.encoding, type: content.mimeType)
            response.content.text = redacted
            response.content.encoding = encoding
            if let comment { response.content.comment = comment }
        }
        response.derive()
    }

    /// Returns a body, and its encoding, without its secrets, and a remark if a part of it is left out because it may hold some.
    private static func redacted(
        _ text: String, _ encoding: String?, type: String
    ) -> (text: String, encoding: String?, remark: String?) {
        guard let encoding else {
            let (redacted, remark) = BodyRedaction.redacted(text, type: type)
            return (redacted, nil, remark)
        }
        guard encoding == "base64", let bytes = HARMessages.bytes(of: text, encoding: encoding) else {
            return (text, encoding, nil)
        }
        let (redacted, remark) = BodyRedaction.redacted(bytes, type: type)
        guard redacted != bytes else { return (text, encoding, remark) }
        let (shown, shownEncoding) = HARMessages.text(of: redacted)
        return (shown, shownEncoding, remark)
    }

    /// Removes the secret of a field. The names of cookies and their attributes are kept.
    package static func redact(_ field: inout HARDocument.Field) {
        switch field.name.lowercasedASCII() {
        case "cookie": field.value = HARCookies.redacted(sent: field.value)
        case "set-cookie": field.value = HARCookies.redacted(received: field.value)
        case let lowercase:
            guard let name = HTTPField.Name(field.name) else {
                if SecretFields.marksSecret(lowercase) { field.value = BodyRedaction.mark }
                break
            }
            var sent = HTTPField(name: name, value: field.value)
            if field.isMarkedSecret { sent.indexingStrategy = .disallow }
            let redacted = SecretFields.redacted(sent)
            if !redacted.hasSameBytes(as: sent.value) { field.value = redacted }
        }
        field.isMarkedSecret = false
    }
}
