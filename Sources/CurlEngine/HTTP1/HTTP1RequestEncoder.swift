import CCurl
private import FoundationEssentials

/// Writes the heads of requests (RFC 9112, section 3).
///
/// What the requests of an engine have in common is kept as bytes: the default fields, and the fields of the last request with others.
struct HTTP1RequestEncoder {
    /// The fields of requests as they are sent.
    private struct Fields {
        /// The lines after `Host`, each with its line end.
        var bytes: [UInt8] = []
        /// The line of a `Host` that the program has set, with its line end.
        var host: [UInt8]?
        var traits: HTTP1RequestTraits = []
    }

    private let defaults: Fields?
    private var last: (lines: HeaderLines, fields: Fields)?

    /// Fields above this size are not kept for the next request. There may be many engines.
    private static let largestKeptSize = 4 << 10

    /// Creates an encoder.
    ///
    /// - Parameter defaults: The fields of requests without their own.
    init(defaults: HeaderLines) { self.defaults = Self.fields(of: defaults) }

    /// Appends the head of a request, and its body if it is in memory and need not wait for a response of status 100. Returns how the rest
    /// of the request is sent.
    ///
    /// Throws if a part of the head would be read as another part.
    mutating func append(
        _ options: TransferOptions, to bytes: inout [UInt8]
    ) throws(EngineFailure) -> HTTP1OutgoingBody {
        guard let fields = fields(of: options) else {
            throw EngineFailure(kind: .internalError, message: "a field of the request is malformed")
        }
        bytes.reserveCapacity(bytes.count + options.url.text.utf8.count + fields.bytes.count + 256)
        let start = bytes.count
        guard Self.append(options, host: fields.host, to: &bytes) else {
            // No part of a malformed head must precede another head.
            bytes.removeSubrange(start...)
            throw EngineFailure(kind: .malformedURL, message: "the method or the target of the request is malformed")
        }
        bytes += fields.bytes
        var body = HTTP1OutgoingBody(options, fields.traits)
        body.appendFraming(to: &bytes)
        if case .bytes(let content) = options.body, !body.traits.contains(.expectsContinue) {
            bytes += content
            body.didSend(content.count)
        }
        return body
    }

    // MARK: Fields

    /// Returns the fields of a request; `nil` if one is malformed.
    private mutating func fields(of options: TransferOptions) -> Fields? {
        guard let lines = options.headerLines else { return defaults }
        if let last, last.lines.areSame(as: lines) { return last.fields }
        guard let fields = Self.fields(of: lines) else { return nil }
        last = fields.bytes.count > Self.largestKeptSize ? nil : (lines, fields)
        return fields
    }

    private static func fields(of lines: HeaderLines) -> Fields? {
        guard let written = lines.written() else { return nil }
        var fields = Fields()
        if written.notes & CCURL_REQUEST_ACCEPT == 0 { fields.bytes += "Accept: */*\r\n".utf8 }
        fields.bytes += written.bytes
        fields.host = written.host
        if written.notes & CCURL_REQUEST_CLOSE != 0 { fields.traits.insert(.closes) }
        if written.notes & CCURL_REQUEST_EXPECT != 0 { fields.traits.insert(.expectsContinue) }
        return fields
    }

    // MARK: Target

    /// Appends the request line and the fields that depend on the URL and the route. Returns `false` if a part is malformed.
    private static func append(_ options: TransferOptions, host: [UInt8]?, to bytes: inout [UInt8]) -> Bool {
        guard options.method.isToken else { return false }
        bytes.append(copying: options.method.utf8.span)
        bytes.append(UInt8(ascii: " "))
        let start = bytes.count
        options.appendTarget(to: &bytes)
        guard bytes.span.extracting(start...).isVisibleASCII else { return false }
        bytes += " HTTP/1.1\r\n".utf8
        if let host {
            bytes += host
        } else {
            bytes += "Host: ".utf8
            let start = bytes.count
            options.url.appendAuthority(to: &bytes)
            guard bytes.span.extracting(start...).isVisibleASCII else { return false }
            bytes += "\r\n".utf8
        }
        if let credentials = options.forwardProxy?.credentials {
            let pair = Data("\(credentials.username):\(credentials.password)".utf8).base64EncodedString()
            bytes += "Proxy-Authorization: Basic \(pair)\r\n".utf8
        }
        return true
    }
}

extension TransferOptions {
    /// Appends the target of the request: the path and the query, or the whole URL for an HTTP proxy that makes no tunnel (RFC 9112,
    /// section 3.2).
    fileprivate func appendTarget(to bytes: inout [UInt8]) {
        let isOfServer = url.target == URLText.serverTarget && method == "OPTIONS"
        if forwardProxy != nil {
            bytes += "http://".utf8
            url.appendAuthority(to: &bytes)
            if isOfServer { return }
        } else if isOfServer {
            bytes.append(UInt8(ascii: "*"))
            return
        }
        let text = url.text.utf8.span
        let start = url.origin.utf8.count
        if start == text.count || text[start] != UInt8(ascii: "/") { bytes.append(UInt8(ascii: "/")) }
        bytes.append(copying: text.extracting(start...))
    }
}

extension WireURL {
    /// Appends the host and any port other than the scheme's default, without the zone of an IPv6 address, which has a meaning on this
    /// machine only (RFC 6874, section 4).
    fileprivate func appendAuthority(to bytes: inout [UInt8]) {
        let authority = origin.utf8.span.extracting((scheme.utf8.count + 3)...)
        let isIPv6 = !authority.isEmpty && authority[0] == UInt8(ascii: "[")
        let zone = isIPv6 ? authority.offset(of: UInt8(ascii: "%")) : authority.count
        bytes.append(copying: authority.extracting(..<zone))
        let end = authority.offset(of: UInt8(ascii: "]"), from: zone)
        bytes.append(copying: authority.extracting(end...))
    }
}

extension HeaderLines {
    /// Returns the lines as they are sent, and what they say about the message; `nil` if one of them is malformed.
    func written() -> (bytes: [UInt8], host: [UInt8]?, notes: Int32)? {
        guard !bytes.isEmpty else { return ([], nil, 0) }
        var result = ccurl_request_lines()
        var isWellFormed = false
        let written = unsafe [UInt8](unsafeUninitializedCapacity: bytes.count + count) { room, written in
            unsafe bytes.withUnsafeBytes { lines in
                guard let start = lines.baseAddress, let first = room.baseAddress else { return }
                isWellFormed = unsafe ccurl_request_lines_write(&result, start, lines.count, first)
            }
            written = result.written
        }
        guard isWellFormed else { return nil }
        guard result.host_length > 0 else { return (written, nil, Int32(bitPattern: result.notes)) }
        var host = [UInt8](bytes[result.host_start..<result.host_start + result.host_length])
        if !host.contains(UInt8(ascii: ":")) { host[host.count - 1] = UInt8(ascii: ":") }
        return (written, host + "\r\n".utf8, Int32(bitPattern: result.notes))
    }
}

extension String {
    /// Whether the text is a token (RFC 9110, section 5.6.2).
    fileprivate var isToken: Bool {
        unsafe utf8.span.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return unsafe ccurl_is_token(start, bytes.count)
        }
    }
}
