import CurlEngine
package import FoundationEssentials
package import HTTPTypes

/// The conversion of requests and responses to those of a HAR document, and back. Secrets are kept: see ``HARRedaction``.
package enum HARMessages {
    /// Returns a request.
    ///
    /// - Parameters:
    ///   - url: The absolute URL.
    ///   - body: The body; `nil` if there is none.
    package static func request(
        method: HTTPRequest.Method, url: String, headers: HTTPFields, body: Data?
    ) -> HARDocument.Request {
        var request = HARDocument.Request(method: method.rawValue, url: url, headers: fields(headers))
        if let body { request.setBody(body, type: headers[.contentType]) }
        request.derive()
        return request
    }

    /// Returns a request before it is sent. A body that is not in memory is described instead.
    ///
    /// - Parameter bodyLimit: The number of bytes of a body that are kept.
    static func request(_ request: Request, bodyLimit: Int) -> HARDocument.Request {
        let url = (try? WireURL(parsing: request.url, unchanged: request.sendsURLUnchanged).text) ?? request.url
        var result = HARDocument.Request(
            method: request.method.rawValue, url: url, headers: fields(request.headers.withoutInvalidNames))
        let type = request.headers[.contentType] ?? request.body?.contentType
        switch request.body?.source {
        case nil: break
        case .data(let data) where bodyLimit > 0: result.setBody(data, type: type, limit: bodyLimit)
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
        switch name.lowercased() {
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

    /// Returns the beginning of bytes, which ends before a character that would be cut.
    static func beginning(of bytes: Data, limit: Int) -> Data {
        let beginning = bytes.prefix(limit)
        for count in 0..<min(4, beginning.count) {
            let whole = beginning.dropLast(count)
            if String(validating: whole, as: UTF8.self) != nil { return whole }
        }
        return beginning
    }

    /// Returns the items of the query of a URL, decoded as those of a form.
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
        cookies = headers.filter { $0.name.lowercased() == "cookie" }.flatMap { HARCookies.sent($0.value) }
    }

    /// Sets a body in memory.
    fileprivate mutating func setBody(_ body: Data, type: String?, limit: Int = .max) {
        bodySize = body.count
        let kept = body.count > limit ? HARMessages.beginning(of: body, limit: limit) : body
        let (text, encoding) = HARMessages.text(of: kept)
        postData = HARDocument.PostData(
            mimeType: type ?? "", text: text, encoding: encoding,
            comment: kept.count < body.count ? "the first \(kept.count) bytes of \(body.count)" : nil)
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
        cookies = headers.filter { $0.name.lowercased() == "set-cookie" }.map { HARCookies.received($0.value) }
        redirectURL = headers.first { $0.name.lowercased() == "location" }?.value ?? ""
        content.mimeType = headers.first { $0.name.lowercased() == "content-type" }?.value ?? ""
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
