import CurlEngine
package import FoundationEssentials
package import HTTPTypes
import TrellisCore

/// The conversion of requests and responses to a HAR document's, and back. Secrets are kept: see ``HARRedaction``.
package enum HARMessages {
    /// Returns a request. A body is recorded without its content codings, and is described instead if they cannot be removed.
    ///
    /// - Parameters:
    ///   - url: The absolute URL.
    ///   - body: The body; `nil` if there is none.
    package static func request(
        method: HTTPRequest.Method, url: String, headers: HTTPFields, body: Data?
    ) -> HARDocument.Request {
        var request = HARDocument.Request(method: method.rawValue, url: url, headers: fields(headers))
        if let body { request.setBody(body, type: headers[.contentType], codings: codings(headers)) }
        request.derive()
        return request
    }

    /// Returns a request before it is sent. A body that is not in memory is described instead, and so is one whose content codings cannot
    /// be removed, because its secrets cannot be found.
    ///
    /// - Parameters:
    ///   - bodyLimit: The number of bytes of a body that are kept.
    ///   - revealsSecrets: Whether a body whose codings cannot be removed is kept as it is.
    static func request(_ request: Request, bodyLimit: Int, revealsSecrets: Bool) -> HARDocument.Request {
        let url = (try? WireURL(parsing: request.url, unchanged: request.sendsURLUnchanged).text) ?? request.url
        var result = HARDocument.Request(
            method: request.method.rawValue, url: url, headers: fields(request.headers.withoutInvalidNames))
        let type = request.headers[.contentType] ?? request.body?.contentType
        switch request.body?.source {
        case nil: break
        case .data(let data) where bodyLimit > 0:
            result.setBody(
                data, type: type, codings: codings(request.headers), limit: bodyLimit, keepsCoded: revealsSecrets)
        case .data(let data): result.describeBody("not recorded", type: type, size: data.count)
        case .file: result.describeBody("a file, not recorded", type: type)
        case .stream: result.describeBody("a stream, not recorded", type: type)
        case .multipart: result.describeBody("a form, not recorded", type: type)
        }
        result.derive()
        return result
    }

    /// Returns a response without its body.
    package static func response(_ head: ResponseHead) -> HARDocument.Response {
        var response = HARDocument.Response(status: head.status.code, headers: fields(head.headers))
        response.statusText = head.status.reasonPhrase
        response.httpVersion = "HTTP/\(head.version)"
        if let length = head.headers[.contentLength].flatMap({ Int($0) }), !head.headers.contains(.contentEncoding) {
            response.content.size = length
        }
        response.derive()
        return response
    }

    /// Returns the head of a response.
    package static func head(of response: HARDocument.Response) -> ResponseHead {
        ResponseHead(
            status: .init(code: min(max(response.status, 100), 999), reasonPhrase: response.statusText),
            headers: fields(response.headers), version: version(response.httpVersion))
    }

    /// Returns the version of HTTP with a name. Browsers name the versions by their protocols (RFC 7301, section 6).
    private static func version(_ name: String) -> HTTPVersion {
        switch name.lowercasedASCII() {
        case "http/1.0": .http1_0
        case "http/2", "http/2.0", "h2": .http2
        case "http/3", "http/3.0", "h3": .http3
        default: .http1_1
        }
    }

    /// Returns fields in their order.
    package static func fields(_ fields: HTTPFields) -> [HARDocument.Field] {
        fields.map { field in
            var named = HARDocument.Field(name: field.name.rawName, value: field.value)
            named.isMarkedSecret = field.indexingStrategy == .disallow
            return named
        }
    }

    /// Returns fields in their order, without those whose names are not tokens, such as the pseudo fields of HTTP/2.
    package static func fields(_ fields: [HARDocument.Field]) -> HTTPFields {
        HTTPFields(
            fields.compactMap { field in
                HTTPField.Name(field.name).map { HTTPField(name: $0, value: field.value) }
            })
    }

    /// Returns bytes as text, or in Base64 if they are not UTF-8 or have a zero byte.
    package static func text(of bytes: Data) -> (text: String, encoding: String?) {
        if let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) { return (text, nil) }
        return (bytes.base64EncodedString(), "base64")
    }

    /// Returns the bytes of a text; `nil` if it is not in its encoding.
    package static func bytes(of text: String, encoding: String?) -> Data? {
        encoding == "base64" ? Data(base64Encoded: text) : Data(text.utf8)
    }

    /// Returns the content codings of a message, in the order in which they were applied (RFC 9110, section 8.4).
    private static func codings(_ headers: HTTPFields) -> [String] {
        headers[values: .contentEncoding].flatMap { $0.split(atByte: ",") }
            .map(\.withoutBlanks)
    }

    /// Returns a body without its content codings; `nil` if they cannot be removed. At least `limit` bytes are decoded, if there are as
    /// many.
    ///
    /// - Parameter isComplete: Whether the body has its end.
    fileprivate static func decoded(
        _ body: Data, codings: [String], limit: Int, isComplete: Bool = true
    ) -> Data? {
        guard let decoder = BodyDecoder(codings: codings) else { return nil }
        do {
            var decoded = try decoder.decode(body) ?? Data()
            while decoded.count <= limit, let piece = try decoder.next() { decoded.append(piece) }
            if isComplete, decoded.count <= limit { try decoder.finish() }
            return decoded
        } catch {
            return nil
        }
    }

    /// Sets the body of a response as it was received, without its content codings, if the session has not removed them.
    ///
    /// - Parameter limit: The number of bytes that are kept.
    static func setBody(
        _ body: CapturedBody, of response: inout HARDocument.Response, _ headers: HTTPFields, limit: Int
    ) {
        response.setBody(body.bytes, size: body.size)
        let codings = codings(headers)
        let isComplete = body.bytes.count == body.size
        // Text has no codings.
        guard !codings.isEmpty, response.content.encoding != nil,
            let decoded = Self.decoded(body.bytes, codings: codings, limit: limit, isComplete: isComplete)
        else { return }
        let kept = CapturedBody.beginning(of: decoded, limit: limit)
        response.content.comment = nil
        response.setBody(kept, size: kept.count)
        guard !isComplete || kept.count < decoded.count else { return }
        response.content.size = -1
        response.content.comment = "the first \(kept.count) bytes"
    }

    /// Returns the items of the query of a URL, decoded as a form's.
    static func items(of url: String) -> [HARDocument.Field] {
        guard let mark = url.firstIndex(ofByte: "?") else { return [] }
        let query = url[url.utf8.index(after: mark)...].prefix(beforeBytes: "#")
        return query.split(atByte: "&").map { item in
            let sign = item.firstIndex(ofByte: "=") ?? item.endIndex
            return HARDocument.Field(
                name: decoded(item[..<sign]),
                value: sign == item.endIndex ? "" : decoded(item[item.utf8.index(after: sign)...]))
        }
    }

    private static func decoded(_ text: Substring) -> String {
        URLRedaction.decoded(text.replacing(byte: "+", with: " ")[...])
    }
}

extension HARDocument.Request {
    /// Sets the properties that follow from the URL and the fields.
    package mutating func derive() {
        queryString = HARMessages.items(of: url)
        cookies = headers.filter { $0.name.lowercasedASCII() == "cookie" }.flatMap { HARCookies.sent($0.value) }
    }

    /// Sets a body in memory, without its content codings.
    ///
    /// - Parameters:
    ///   - codings: The content codings.
    ///   - limit: The number of bytes that are kept.
    ///   - keepsCoded: Whether a body whose codings cannot be removed is kept as it is.
    fileprivate mutating func setBody(
        _ body: Data, type: String?, codings: [String], limit: Int = .max, keepsCoded: Bool = false
    ) {
        let decoded = codings.isEmpty ? nil : HARMessages.decoded(body, codings: codings, limit: limit)
        guard codings.isEmpty || decoded != nil || keepsCoded else {
            describeBody("not recorded, because its codings cannot be removed", type: type, size: body.count)
            return
        }
        bodySize = body.count
        let whole = decoded ?? body
        let kept = whole.count > limit ? CapturedBody.beginning(of: whole, limit: limit) : whole
        let (text, encoding) = HARMessages.text(of: kept)
        // The length of a body that was not decoded to its end is not known.
        let total = decoded == nil ? " of \(whole.count)" : ""
        postData = HARDocument.PostData(
            mimeType: type ?? "", text: text, encoding: encoding,
            comment: kept.count < whole.count ? "the first \(kept.count) bytes\(total)" : nil)
    }

    /// Sets a body whose bytes are not kept.
    fileprivate mutating func describeBody(_ description: String, type: String?, size: Int = -1) {
        bodySize = size
        postData = HARDocument.PostData(mimeType: type ?? "", comment: description)
    }
}

extension HARDocument.Response {
    /// Sets the properties that follow from the fields.
    package mutating func derive() {
        cookies = headers.filter { $0.name.lowercasedASCII() == "set-cookie" }.map { HARCookies.received($0.value) }
        redirectURL = headers.first { $0.name.lowercasedASCII() == "location" }?.value ?? ""
        content.mimeType = headers.first { $0.name.lowercasedASCII() == "content-type" }?.value ?? ""
    }

    /// Sets the body.
    ///
    /// - Parameters:
    ///   - body: The body, or the part of it that was kept.
    ///   - size: The number of bytes that were received.
    package mutating func setBody(_ body: Data, size: Int) {
        content.size = size
        (content.text, content.encoding) = HARMessages.text(of: body)
        if body.count < size { content.comment = "the first \(body.count) bytes of \(size)" }
    }
}
