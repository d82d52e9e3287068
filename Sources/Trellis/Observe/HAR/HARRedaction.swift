import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The removal of secrets from the requests and responses of a HAR document. The rules are those of ``SecretFields``,
/// ``URLRedaction`` and ``BodyRedaction``; text that is without secrets stays as it is.
package enum HARRedaction {
    /// Removes the secrets of a request: user information and secret items of the URL, secret fields, secret items of a form in the body,
    /// and texts under secret names in a body of JSON.
    package static func redact(_ request: inout HARDocument.Request) {
        request.url = URLRedaction.redact(request.url)
        for index in request.headers.indices { redact(&request.headers[index]) }
        if let body = request.postData, body.encoding == nil, let text = body.text {
            let (redacted, comment) = BodyRedaction.redacted(text, type: body.mimeType)
            request.postData?.text = redacted
            if let comment { request.postData?.comment = comment }
        }
        request.derive()
    }

    /// Removes the secrets of a response: secret fields, and texts under secret names in a body of JSON.
    package static func redact(_ response: inout HARDocument.Response) {
        for index in response.headers.indices { redact(&response.headers[index]) }
        if response.content.encoding == nil, let text = response.content.text {
            let (redacted, comment) = BodyRedaction.redacted(text, type: response.content.mimeType)
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
                if SecretFields.marksSecret(lowercased) { field.value = BodyRedaction.mark }
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
