/// The settings of one transfer: one absolute URL and one hop.
package final class TransferOptions: Sendable {
    /// The body of the request, which is sent after the head.
    package enum Body: Sendable {
        /// No body.
        case none
        /// Bytes in memory, for small bodies.
        case bytes([UInt8])
        /// Chunks that are passed later through ``Transfer/send(_:)``. The length is `nil` if it is not known.
        case stream(length: Int64?)
    }

    /// The HTTP versions that a transfer may use.
    package enum Version: Hashable, Sendable {
        /// HTTP/1.1 only.
        case http1
        /// HTTP/2 if the server selects it in the TLS handshake; otherwise HTTP/1.1.
        case http2OverTLS
        /// HTTP/2 if the server selects it in the TLS handshake; otherwise an error.
        case http2Only
        /// HTTP/2 without negotiation.
        case http2PriorKnowledge
        /// HTTP/3; otherwise HTTP/2 or HTTP/1.1.
        case http3WithFallback
        /// HTTP/3 only.
        case http3Only
    }

    /// The URL of the request.
    package let url: WireURL
    /// The way to the server.
    package let route: TransferRoute
    /// The rules of TLS.
    package let trust: TransferTrust
    /// The method of the request. Empty for a transfer that sends none, and only makes a connection: with ``switchesProtocols``, the
    /// delegate gets it as soon as it is made, as after a switch of protocols.
    package let method: String
    /// The header lines of the request; if `nil`, the engine's configuration has them.
    package let headerLines: HeaderLines?
    /// Returns further header lines, whose values depend on the instant at which the head is written; `nil` if there are none. Called on
    /// the engine thread, each time that a head is written; over HTTP/3, when libcurl gets the request.
    package let lateLines: (@Sendable () -> HeaderLines)?
    /// The body of the request.
    package let body: Body
    /// The HTTP versions that may be used.
    package let version: Version
    /// Whether the request may be sent again if a reused connection turned out to be dead.
    package let mayBeReplayed: Bool
    /// Whether the body is decoded from content codings such as gzip, which the header lines request.
    package let decodesContent: Bool
    /// The size in bytes of libcurl's receive buffer over HTTP/3, which is also the largest number of bytes that libcurl reads at once.
    package let receiveBufferSize: Int
    /// The largest number of bytes that are read at once over TCP.
    package let receivePieceSize: Int
    /// The largest part of the body that is passed to the connection at once, in bytes.
    package let sendPieceSize: Int
    /// The limit in bytes on all heads of a response together, and on the trailers.
    package let maximumHeaderBytes: Int
    /// The time limit for making a connection in nanoseconds, if any. The engine only distinguishes the limits of
    /// ``mayConnect`` and ``mayConnectForLong``.
    package let connectLimit: UInt64?
    /// Whether the delegate gets the certificates of the server before the request is sent. Connections for such transfers resume
    /// no TLS session, because the validated chain is known only after a complete handshake.
    package let readsCertificates: Bool
    /// Whether fields follow the body, which is chunked over HTTP/1.1 then (RFC 9112, section 7.1.2). Not over HTTP/3.
    package let hasTrailers: Bool
    /// Whether the request asks the server to switch protocols (RFC 9110, section 7.8). It has no body. Over HTTP/1.1, it is sent on a new
    /// connection.
    package let switchesProtocols: Bool
    /// The rank among the transfers that wait for a stream. The lowest is first, as among the requests that wait for a connection.
    package let rank: Int

    /// The number of connections of the ``queue`` on the engine, used ones included, up to which the transfer makes one that becomes idle;
    /// it sends nothing. `nil` for a request.
    package let connectionCount: Int?

    /// Creates the settings of a transfer.
    package init(
        url: WireURL, route: TransferRoute = .direct, trust: TransferTrust = .system, method: String,
        headerLines: HeaderLines? = nil, lateLines: (@Sendable () -> HeaderLines)? = nil,
        body: Body = .none,
        version: Version = .http2OverTLS,
        mayBeReplayed: Bool = false, decodesContent: Bool = true, receiveBufferSize: Int = 16 << 10,
        receivePieceSize: Int = .max, sendPieceSize: Int = .max, maximumHeaderBytes: Int = 64 << 10,
        connectLimit: UInt64? = TransferOptions.libcurlConnectLimit,
        readsCertificates: Bool = false, hasTrailers: Bool = false, switchesProtocols: Bool = false, rank: Int = 0,
        connectionCount: Int? = nil
    ) {
        self.url = url
        self.route = route
        self.trust = trust
        self.method = method
        self.headerLines = headerLines
        self.lateLines = lateLines
        self.body = body
        self.version = version
        self.mayBeReplayed = mayBeReplayed
        self.decodesContent = decodesContent
        self.receiveBufferSize = receiveBufferSize
        self.receivePieceSize = receivePieceSize
        self.sendPieceSize = sendPieceSize
        self.maximumHeaderBytes = maximumHeaderBytes
        self.connectLimit = connectLimit
        self.readsCertificates = readsCertificates
        self.hasTrailers = hasTrailers
        self.switchesProtocols = switchesProtocols
        self.rank = rank
        self.connectionCount = connectionCount
    }

    /// The name of the pool of connections that the transfer can use: ``limitName``, and the route if it has one of several addresses.
    package var pool: String {
        route.number == 0 && trust.isFirst ? url.origin : route.pool(of: limitName)
    }

    /// The name by which the connections of the transfer are counted, for the limits: the origin, the route if it is not direct, with all
    /// addresses of the server, and the number of the rules of TLS if they are not the first ones.
    package var limitName: String {
        route.number == 0 ? trust.pool(of: url) : trust.pool(route.limitName(of: url.origin))
    }

    /// The name of the queue of requests that share connections and limits: ``limitName``, with the protocol if only one is allowed.
    package var queue: String { version.queue(of: limitName, isSecure: url.isSecure) }

    /// The HTTP proxy to which the request goes without a tunnel, if any.
    var forwardProxy: EngineConfiguration.ProxyServer? {
        guard route !== TransferRoute.direct, !url.isSecure, !switchesProtocols, let proxy = route.proxy,
            route.parts.connectTo == nil
        else { return nil }
        let isHTTP = proxy.scheme == .http || proxy.scheme == .https
        return isHTTP && proxy.credentials?.isDigest != true ? proxy : nil
    }

    /// Whether the transfer sends no request, and leaves its connection to its owner.
    var sendsNothing: Bool { switchesProtocols && method.isEmpty }

    /// The same options without the header line `Expect: 100-continue`.
    package var withoutExpectation: TransferOptions {
        with(headerLines?.without("Expect: 100-continue"), lateLines)
    }

    /// Returns the same options with lines that are added when the head is written.
    package func adding(_ lateLines: @escaping @Sendable () -> HeaderLines) -> TransferOptions {
        with(headerLines, lateLines)
    }

    /// Returns all header lines of a head that is written now.
    func lines(orDefault defaults: HeaderLines) -> HeaderLines {
        guard let late = lateLines?() else { return headerLines ?? defaults }
        var lines = headerLines ?? defaults
        lines.append(late)
        return lines
    }

    private func with(
        _ headerLines: HeaderLines?, _ lateLines: (@Sendable () -> HeaderLines)?
    ) -> TransferOptions {
        TransferOptions(
            url: url, route: route, trust: trust, method: method, headerLines: headerLines, lateLines: lateLines,
            body: body,
            version: version, mayBeReplayed: mayBeReplayed, decodesContent: decodesContent,
            receiveBufferSize: receiveBufferSize, receivePieceSize: receivePieceSize, sendPieceSize: sendPieceSize,
            maximumHeaderBytes: maximumHeaderBytes, connectLimit: connectLimit, readsCertificates: readsCertificates,
            hasTrailers: hasTrailers, switchesProtocols: switchesProtocols, rank: rank,
            connectionCount: connectionCount)
    }

    /// libcurl's limit on connecting: 300 seconds, in nanoseconds.
    package static let libcurlConnectLimit: UInt64 = 300_000_000_000

    /// Whether connecting may take longer than libcurl's limit. libcurl keeps a timer for another limit, so that only the transfers that
    /// need one have it.
    package var mayConnectForLong: Bool { connectLimit.map { $0 > Self.libcurlConnectLimit } ?? true }

    /// Whether a connection may be made. With a limit of zero, the transfer fails unless it finds an existing connection.
    var mayConnect: Bool { connectLimit != 0 }

    /// Whether libcurl must resume no TLS session, neither with the server nor with an `https` proxy: its option is for both.
    var forbidsResumption: Bool {
        readsCertificates || trust.forbidsResumptionWithServer
            || trust.forbidsResumptionWithProxy && route.parts.proxy?.scheme == .https
    }

    /// Whether the bytes of the transfer are encrypted on their connection, to the server or to a proxy.
    var isEncryptedOnTheWire: Bool { url.isSecure || route.parts.proxy?.scheme == .https }
}

extension TransferOptions.Version {
    /// Returns the name of the queue of requests whose connections are counted by a name. An HTTP/1.1 request must not be counted as a
    /// stream of the HTTP/2 connections to the same origin. Without TLS, only prior knowledge leads to HTTP/2.
    package func queue(of limitName: String, isSecure: Bool) -> String {
        switch self {
        case .http2OverTLS, .http2Only, .http3WithFallback: limitName
        case .http1: isSecure ? limitName + " HTTP/1.1" : limitName
        case .http2PriorKnowledge: limitName + " HTTP/2"
        case .http3Only: limitName + " HTTP/3"
        }
    }
}

/// Header lines in libcurl's form: `Name: value`, `Name;` if the value is empty, `Name:` to omit a line that is added otherwise.
package struct HeaderLines: Hashable, Sendable {
    /// The lines, each with a zero byte at its end.
    package private(set) var bytes: [UInt8] = []
    /// The number of lines.
    package private(set) var count = 0

    /// Creates an empty list of lines.
    package init() { bytes.reserveCapacity(256) }

    /// Creates a list of one line.
    init(line: String) { self.init(lines: [line]) }

    /// Creates a list of lines with a zero byte at their ends.
    init(terminated lines: [[CChar]]) {
        for line in lines {
            var line = line.map(UInt8.init(bitPattern:))
            // A line with nothing after its colon would omit the field.
            if line.suffix(3) == [UInt8(ascii: ":"), UInt8(ascii: " "), 0] {
                line.replaceSubrange((line.count - 3)..., with: [UInt8(ascii: ";"), 0])
            }
            bytes += line
        }
        count = lines.count
    }

    /// Creates a list of lines.
    init(lines: [String]) {
        for line in lines { bytes += line.utf8 + [0] }
        count = lines.count
    }

    /// Adds a field. Returns `false`, without adding the field, if a byte would end the line early (NUL, LF or CR).
    package mutating func append(name: String, value: String) -> Bool {
        let start = begin(name)
        add(value)
        return end(name, from: start)
    }

    /// Adds a field whose value is not text. Returns `false` as ``append(name:value:)`` does.
    package mutating func append(name: String, value: [UInt8]) -> Bool {
        let start = begin(name)
        bytes.append(contentsOf: value)
        return end(name, from: start)
    }

    /// Adds the lines of another list.
    package mutating func append(_ other: HeaderLines) {
        bytes.append(contentsOf: other.bytes)
        count += other.count
    }

    /// Adds the beginning of a line, up to the value. Returns the position of the line.
    private mutating func begin(_ name: String) -> Int {
        let start = bytes.count
        add(name)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(UInt8(ascii: " "))
        return start
    }

    /// Adds the bytes of a text. Appending its view of UTF-8 would take twice as long.
    private mutating func add(_ text: String) {
        let text = text.utf8.span
        unsafe text.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    }

    /// Adds the end of a line whose value has been added; removes the line and returns `false` if a byte would end it early.
    private mutating func end(_ name: String, from start: Int) -> Bool {
        if bytes.count == start + name.utf8.count + 2 {
            bytes.removeLast(2)
            bytes.append(UInt8(ascii: ";"))
        }
        if bytes.hasLineBreak(from: start) {
            bytes.removeSubrange(start...)
            return false
        }
        bytes.append(0)
        count += 1
        return true
    }

    /// Returns whether the lines are the same.
    func areSame(as other: HeaderLines) -> Bool { bytes.span.hasSameBytes(as: other.bytes.span) }

    /// Returns the lines that differ from `line`.
    func without(_ line: String) -> HeaderLines { filtered { !$0.elementsEqual(line.utf8) } }

    /// Returns the lines of all fields but one. Its name is compared in any case.
    package func withoutField(named name: String) -> HeaderLines {
        filtered { line in
            let end = line.firstIndex { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ";") } ?? line.endIndex
            return !String(decoding: line[..<end], as: UTF8.self).hasSameToken(as: name)
        }
    }

    private func filtered(_ isKept: (ArraySlice<UInt8>) -> Bool) -> HeaderLines {
        var lines = HeaderLines()
        for present in bytes.split(separator: 0) where isKept(present) {
            lines.bytes += present
            lines.bytes.append(0)
            lines.count += 1
        }
        return lines
    }

    /// Omits a field that is added otherwise.
    package mutating func suppress(_ name: String) {
        bytes.append(contentsOf: name.utf8)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(0)
        count += 1
    }
}
