import CCurl
private import FoundationEssentials

/// Writes the heads of requests (RFC 9112, section 3).
///
/// Most requests of an engine go to the origin of the last one, with the same fields. What such heads have in common is kept as bytes.
struct HTTP1RequestEncoder {
    private let defaults: HeaderLines
    /// The route and the origin of the last request; `nil` if nothing is kept.
    private var route: TransferRoute?
    private var origin = ""
    /// Whether the last request went to a proxy that makes no tunnel, whose credentials its fields may have.
    private var isForwarded = false
    /// The lines of the last request; `nil` for the default lines.
    private var lines: HeaderLines?
    /// What followed the target of the last request: the end of the request line, the fields and the empty line.
    private var rest: [UInt8] = []
    private var traits: HTTP1RequestTraits = []

    /// A longer part is not kept for the next request. There may be many engines.
    private static let largestKeptSize = 4 << 10

    /// Creates an encoder.
    ///
    /// - Parameter defaults: The header lines of requests without their own.
    init(defaults: HeaderLines) { self.defaults = defaults }

    /// Appends the head of a request, and its body if it is in memory and need not wait for a response of status 100. Returns how the rest
    /// of the request is sent.
    ///
    /// Throws, and appends nothing, if a part of the head would be read as another part.
    mutating func append(
        _ options: TransferOptions, to bytes: inout [UInt8]
    ) throws(EngineFailure) -> HTTP1OutgoingBody {
        if !isLike(options) { try begin(options) }
        defer { if rest.count > Self.largestKeptSize { (route, rest, lines) = (nil, [], nil) } }
        let start = bytes.count
        guard options.appendTarget(to: &bytes, roomFor: rest.count) else {
            bytes.removeSubrange(start...)
            throw EngineFailure(kind: .malformedURL, message: "the method or the target of the request is malformed")
        }
        bytes.append(copying: rest.span)
        if let late = options.lateLines?() {
            guard let fields = late.written() else {
                bytes.removeSubrange(start...)
                throw EngineFailure(kind: .internalError, message: "a field of the request is malformed")
            }
            bytes.removeLast(2)
            bytes += fields.bytes + "\r\n".utf8
        }
        var body = HTTP1OutgoingBody(options, traits)
        guard body.framing != .none else { return body }
        // The framing is the last field.
        bytes.removeLast(2)
        body.appendFraming(to: &bytes)
        if case .bytes(let content) = options.body, !traits.contains(.expectsContinue) {
            bytes.append(copying: content.span)
            body.didSend(content.count)
        }
        return body
    }

    /// Forgets the fields of the last request, which may have credentials.
    mutating func forgetFields() { (route, rest, lines) = (nil, [], nil) }

    /// Returns whether the head of a request differs from the last one in its request line at most.
    private func isLike(_ options: TransferOptions) -> Bool {
        guard route === options.route, origin.hasSameBytes(as: options.url.origin),
            isForwarded == (options.forwardProxy != nil)
        else { return false }
        guard let lines else { return options.headerLines == nil }
        return options.headerLines?.areSame(as: lines) ?? false
    }

    private mutating func begin(_ options: TransferOptions) throws(EngineFailure) {
        route = nil
        guard let fields = (options.headerLines ?? defaults).written() else {
            throw EngineFailure(kind: .internalError, message: "a field of the request is malformed")
        }
        rest = []
        rest.reserveCapacity(fields.bytes.count + options.url.origin.utf8.count + 64)
        rest += " HTTP/1.1\r\n".utf8
        if let host = fields.host {
            rest += host
        } else {
            rest += "Host: ".utf8
            let start = rest.count
            options.url.appendAuthority(to: &rest)
            guard rest.span.extracting(start...).isVisibleASCII else {
                throw EngineFailure(kind: .malformedURL, message: "the host of the request is malformed")
            }
        }
        rest += "\r\n".utf8
        let proxy = options.forwardProxy
        if let credentials = proxy?.credentials {
            let pair = Data("\(credentials.username):\(credentials.password)".utf8).base64EncodedString()
            rest += "Proxy-Authorization: Basic \(pair)\r\n".utf8
        }
        if fields.notes & CCURL_REQUEST_ACCEPT == 0 { rest += "Accept: */*\r\n".utf8 }
        rest += fields.bytes
        rest += "\r\n".utf8
        traits = []
        if fields.notes & CCURL_REQUEST_CLOSE != 0 { traits.insert(.closes) }
        if fields.notes & CCURL_REQUEST_EXPECT != 0 { traits.insert(.expectsContinue) }
        (route, origin, lines) = (options.route, options.url.origin, options.headerLines)
        isForwarded = proxy != nil
    }
}

extension TransferOptions {
    /// Appends the method and the target of the request: the path and the query, or the whole URL for an HTTP proxy that makes no tunnel
    /// (RFC 9112, section 3.2). Returns `false` if one of them is malformed.
    fileprivate func appendTarget(to bytes: inout [UInt8], roomFor rest: Int) -> Bool {
        let method = method.utf8.span
        guard method.isToken else { return false }
        bytes.reserveCapacity(bytes.count + method.count + url.text.utf8.count + rest + 64)
        bytes.append(copying: method)
        bytes.append(UInt8(ascii: " "))
        let start = bytes.count
        if forwardProxy != nil {
            bytes += "http://".utf8
            url.appendAuthority(to: &bytes)
        }
        appendPath(to: &bytes)
        return bytes.span.extracting(start...).isVisibleASCII
    }

    /// Appends the path and the query, or the asterisk of a request that is for the server as a whole (RFC 9112, section 3.2.4).
    func appendPath(to bytes: inout [UInt8]) {
        let isOfServer = url.target.map { $0 == URLText.serverTarget && method == "OPTIONS" } ?? false
        if isOfServer {
            if forwardProxy == nil { bytes.append(UInt8(ascii: "*")) }
            return
        }
        let text = url.text.utf8.span
        let root = url.origin.utf8.count
        if root == text.count || text[root] != UInt8(ascii: "/") { bytes.append(UInt8(ascii: "/")) }
        bytes.append(copying: text.extracting(root...))
    }
}

extension WireURL {
    /// Appends the host and any port other than the scheme's default, without the zone of an IPv6 address, which has a meaning on this
    /// machine only (RFC 6874, section 4).
    package func appendAuthority(to bytes: inout [UInt8]) {
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
        return (written, host, Int32(bitPattern: result.notes))
    }
}

extension Span<UInt8> {
    /// Whether the bytes are a token (RFC 9110, section 5.6.2).
    fileprivate var isToken: Bool {
        unsafe withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return unsafe ccurl_is_token(start, bytes.count)
        }
    }
}
