import CurlEngine
public import FoundationEssentials
public import HTTPTypes

extension LoopbackServer {
    /// A request as it came over the wire.
    public struct ReceivedRequest: Sendable {
        /// The number of the connection that the request came over, counted from 1.
        public let connection: Int
        /// The method, as sent. A string, as a server may receive a method that is not a token.
        public let method: String
        /// The request target, as sent: path and query, or an absolute URL through a proxy.
        public let target: String
        /// The version, such as `HTTP/1.1`.
        public let version: String
        /// All field lines in order, names as sent, values without the space around them.
        public let fields: [(name: String, value: String)]
        /// The complete head, byte for byte, with its empty line.
        public let headBytes: Data
        /// The body without its framing; empty until it was read, and if the server does not store bodies.
        public internal(set) var body = Data()
        /// The length of the body in bytes.
        public internal(set) var bodyLength = 0
        /// The field lines after a chunked body.
        public internal(set) var trailers: [(name: String, value: String)] = []

        /// The target without its query.
        public var path: String { String(target.prefix(beforeBytes: "?")) }

        /// The query without its question mark, if any.
        public var query: String? {
            target.firstIndex(ofByte: "?").map { String(target[target.utf8.index(after: $0)...]) }
        }

        /// The absolute URL: from the request line, or `http://` with the `Host` and the target.
        public var url: String {
            target.hasBytePrefix("/") || target == "*" ? "http://\(values(of: "Host").first ?? "")\(target)" : target
        }

        /// The fields in order, except for fields whose names are not tokens.
        public var headers: HTTPFields {
            HTTPFields(
                fields.prefix(10_000).compactMap { field in
                    HTTPField.Name(field.name).map { HTTPField(name: $0, value: field.value) }
                })
        }

        /// The value of the field with a name, in any case; `nil` if there is none. The values of several fields are joined with
        /// commas (`Cookie` with semicolons), as in ``headers``.
        public subscript(name: String) -> String? {
            let values = values(of: name)
            guard !values.isEmpty else { return nil }
            return values.joined(separator: name.hasSameToken(as: "cookie") ? "; " : ", ")
        }

        /// Returns the values of all fields with this name, in order.
        public func values(of name: String) -> [String] {
            fields.filter { $0.name.hasSameToken(as: name) }.map(\.value)
        }
    }

    /// The error of a script that asked for a request and got something else.
    public struct MalformedRequest: Error, Sendable, Hashable {
        /// The reason in words.
        public let reason: String
    }
}

extension LoopbackServer.ReceivedRequest {
    // Written with indices: in builds without optimization, and with several threads, generic code takes most of a server's time.

    init(head: [UInt8], connection: Int) throws {
        var lines: [Range<Int>] = []
        var start = 0
        while start < head.count {
            let end = Self.endOfLine(in: head, from: start)
            if end > start { lines.append(start..<end) }
            start = end + 2
        }
        guard !lines.isEmpty else { throw LoopbackServer.MalformedRequest(reason: "the head has no request line") }
        let words = Self.text(head, lines[0]).split(atByte: " ", omittingEmptySubsequences: false)
        guard words.count == 3 else {
            throw LoopbackServer.MalformedRequest(reason: "the request line has \(words.count) words instead of 3")
        }
        self.connection = connection
        method = String(words[0])
        target = String(words[1])
        version = String(words[2])
        fields = try lines.dropFirst().map { try Self.field(head, $0) }
        headBytes = Data(head)
    }

    /// Returns the index of the next CR LF; the end of the head if there is none.
    private static func endOfLine(in head: [UInt8], from start: Int) -> Int {
        var index = head.span.offset(of: 0x0D, from: start)
        while index + 1 < head.count, head[index + 1] != 0x0A { index = head.span.offset(of: 0x0D, from: index + 1) }
        return index + 1 < head.count ? index : head.count
    }

    private static func text(_ bytes: [UInt8], _ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }

    static func field(_ line: String) throws -> (name: String, value: String) {
        let bytes = Array(line.utf8)
        return try field(bytes, bytes.startIndex..<bytes.endIndex)
    }

    private static func field(_ head: [UInt8], _ line: Range<Int>) throws -> (name: String, value: String) {
        let colon = head.span.offset(of: 0x3A, from: line.lowerBound)
        guard colon < line.upperBound else {
            throw LoopbackServer.MalformedRequest(reason: "a field line has no colon: \(text(head, line))")
        }
        var (start, end) = (colon + 1, line.upperBound)
        while start < end, head[start] == 0x20 || head[start] == 0x09 { start += 1 }
        while end > start, head[end - 1] == 0x20 || head[end - 1] == 0x09 { end -= 1 }
        return (text(head, line.lowerBound..<colon), text(head, start..<end))
    }
}

extension LoopbackServer.Connection {
    /// Reads a complete request, head and body, and records it.
    ///
    /// - Parameter storingBody: `false` to count a body's bytes without keeping them.
    /// - Throws: ``LoopbackServer/Interruption``; ``LoopbackServer/MalformedRequest``.
    @discardableResult
    public func readRequest(storingBody: Bool = true) throws -> LoopbackServer.ReceivedRequest {
        guard let request = try nextRequest(storingBody: storingBody) else {
            throw LoopbackServer.Interruption.closedByPeer
        }
        return request
    }

    /// Reads a complete request and records it; returns `nil` if the peer ended the connection instead.
    ///
    /// - Throws: ``LoopbackServer/Interruption``; ``LoopbackServer/MalformedRequest``.
    public func nextRequest(storingBody: Bool = true) throws -> LoopbackServer.ReceivedRequest? {
        guard let head = try readHead() else { return nil }
        return try readBody(of: head, storing: storingBody)
    }

    /// Reads the head alone and records the request with an empty body; returns `nil` if the peer ended the connection instead.
    ///
    /// - Throws: ``LoopbackServer/Interruption``; ``LoopbackServer/MalformedRequest``.
    public func readHead() throws -> LoopbackServer.ReceivedRequest? { try readHead { _ in } }

    /// Reads the head alone, and records the request after an examination.
    func readHead(
        examining examine: (LoopbackServer.ReceivedRequest) throws -> Void
    ) throws -> LoopbackServer.ReceivedRequest? {
        guard let head = try read(through: Array("\r\n\r\n".utf8)) else { return nil }
        let request = try LoopbackServer.ReceivedRequest(head: head, connection: ordinal)
        try examine(request)
        listener.record.update { $0.requests.append(request) }
        return request
    }

    /// Reads the body that follows a head, and returns the request with it.
    ///
    /// - Throws: ``LoopbackServer/Interruption``; ``LoopbackServer/MalformedRequest``.
    public func readBody(
        of head: LoopbackServer.ReceivedRequest, storing: Bool = true
    ) throws -> LoopbackServer.ReceivedRequest {
        try readBody(of: head, storing: storing) { _ in }
    }

    /// Reads the body that follows a head, and reports the number of its bytes each time that more have arrived.
    func readBody(
        of head: LoopbackServer.ReceivedRequest, storing: Bool, whenReceived: (Int) throws -> Void
    ) throws -> LoopbackServer.ReceivedRequest {
        var request = head
        func receive(_ bytes: [UInt8]) throws {
            request.bodyLength += bytes.count
            if storing { request.body.append(contentsOf: bytes) }
            try whenReceived(request.bodyLength)
        }
        if head.values(of: "Transfer-Encoding").first?.lowercasedASCII() == "chunked" {
            while case let size = try readChunkSize(), size > 0 {
                try readPieces(of: size, receive)
                _ = try read(exactly: 2)
            }
            while case let line = try readLine(), !line.isEmpty {
                request.trailers.append(try LoopbackServer.ReceivedRequest.field(line))
            }
        } else if let length = head.values(of: "Content-Length").first.flatMap({ Int($0) }) {
            try readPieces(of: length, receive)
        }
        listener.record.update { record in
            let mine = record.requests.lastIndex { $0.connection == ordinal }
            if let mine { record.requests[mine] = request }
        }
        return request
    }

    /// Returns the next line, without its end.
    ///
    /// - Throws: ``LoopbackServer/Interruption``.
    public func readLine() throws -> String {
        guard let line = try read(through: Array("\r\n".utf8)) else { throw LoopbackServer.Interruption.closedByPeer }
        return String(decoding: line.dropLast(2), as: UTF8.self)
    }

    private func readChunkSize() throws -> Int {
        let line = try readLine()
        guard let size = Int(line.prefix(beforeBytes: ";"), radix: 16), size >= 0 else {
            throw LoopbackServer.MalformedRequest(reason: "a chunk size is not a hexadecimal number: \(line)")
        }
        return size
    }

    private func readPieces(of length: Int, _ receive: ([UInt8]) throws -> Void) throws {
        var missing = length
        while missing > 0 {
            let bytes = try read(upTo: min(missing, 64 << 10))
            if bytes.isEmpty { throw LoopbackServer.Interruption.closedByPeer }
            try receive(bytes)
            missing -= bytes.count
        }
    }
}
