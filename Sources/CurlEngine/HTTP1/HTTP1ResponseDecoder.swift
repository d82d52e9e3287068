import CCurl

/// Reads the response to one request from the bytes of a connection (RFC 9112), as a sequence of events.
///
/// The bytes may come in pieces of any size, which give the same events. A piece is used completely before ``Event/more``: the decoder
/// keeps the beginning of a line itself. The bytes of a body are never copied.
struct HTTP1ResponseDecoder: Sendable {
    /// The next part of a response.
    enum Event: Sendable {
        /// All bytes were used, and more are needed.
        case more
        /// An informational head.
        case informational(WireHead)
        /// The final head.
        case head(WireHead)
        /// Bytes of the body: a range of the bytes that were given.
        case body(Range<Int>)
        /// The response is complete, and its trailers, if any.
        case end(trailers: WireFields)
        /// The connection belongs to another protocol from the present position on.
        case switched(WireHead)
    }

    /// How the end of a body is found (RFC 9112, section 6.3).
    enum Framing: Hashable, Sendable {
        case none, chunked, untilEnd
        case length(Int64)
    }

    private enum Place: Sendable { case statusLine, fields, body, trailers, ended, switched, failed }

    private let traits: HTTP1RequestTraits
    private var place = Place.statusLine
    private var reader: HeadReader
    private var status: StatusLine?
    /// How the end of the body is found, from the final head on.
    private(set) var framing = Framing.none
    private var rest: Int64 = 0
    private var chunks = ChunkFraming()
    /// Whether the connection ends with the response, as far as is known.
    private(set) var closes = false
    /// The number of seconds for which the server keeps an idle connection, if it says so.
    private(set) var keepAliveTimeout: Int?

    /// Creates a decoder for the response to a request.
    ///
    /// - Parameter limit: The limit in bytes on all heads together, and on the trailers.
    init(_ traits: HTTP1RequestTraits = [], limit: Int) {
        self.traits = traits
        closes = traits.contains(.closes)
        reader = HeadReader(limit: limit)
    }

    // MARK: State

    /// Whether a byte of the response was read.
    var hasStarted: Bool { reader.hasStarted }
    /// The number of bytes of all heads, and of the trailer fields.
    var headBytes: Int { reader.receivedBytes }
    /// Whether the final head was read.
    var hasFinalHead: Bool { place == .body || place == .trailers || place == .ended }
    /// Whether the connection belongs to another protocol.
    var hasSwitched: Bool { place == .switched }
    /// Whether the response is complete.
    var hasEnded: Bool { place == .ended }
    /// Whether the connection can serve another request. Bytes after the response are no part of it, so that the connection cannot be
    /// trusted any more.
    var isReusable: Bool { place == .ended && !closes }

    /// Whether the body has a content coding (RFC 9110, section 8.4), from the final head on.
    var hasContentCoding: Bool { reader.has(CCURL_NOTE_CONTENT_CODING) }

    // MARK: Events

    /// Returns the next event of the bytes from a position on, which moves past the bytes of the event.
    mutating func next(in bytes: RawSpan, at position: inout Int) throws(EngineFailure) -> Event {
        unsafe try bytes.withUnsafeBytes { bytes throws(EngineFailure) in unsafe try next(in: bytes, at: &position) }
    }

    /// Ends the response with its connection. Returns ``Event/end(trailers:)``, or throws if the response is not complete.
    mutating func connectionEnded() throws(EngineFailure) -> Event {
        closes = true
        switch place {
        case .statusLine, .fields:
            guard hasStarted else { throw fail(.emptyReply, "the server closed the connection without a response") }
            throw fail(.head(place == .statusLine ? reader.cutStatusLine : .cutShort))
        case .body where framing == .untilEnd || framing == .none: place = .ended
        case .body where framing != .chunked && rest == 0: place = .ended
        case .body, .trailers: throw fail(.bodyCutShort, "the server closed the connection")
        case .ended, .switched, .failed: break
        }
        return .end(trailers: WireFields())
    }

    private mutating func next(
        in bytes: UnsafeRawBufferPointer, at position: inout Int
    ) throws(EngineFailure) -> Event {
        while true {
            switch place {
            case .statusLine, .fields:
                do throws(HeadFailure) {
                    guard let event = unsafe try readHead(bytes, &position) else { return .more }
                    return event
                } catch { throw fail(.head(error)) }
            case .body: if let event = unsafe try readBody(bytes, &position) { return event }
            case .trailers:
                do throws(HeadFailure) {
                    guard let trailers = unsafe try reader.readFields(bytes, &position) else { return .more }
                    return end(bytes.count - position, trailers: trailers)
                } catch { throw fail(.head(error)) }
            case .ended, .switched, .failed:
                if position < bytes.count { closes = true }
                position = bytes.count
                return .more
            }
        }
    }

    private mutating func end(_ excess: Int, trailers: WireFields = WireFields()) -> Event {
        place = .ended
        if excess > 0 { closes = true }
        return .end(trailers: trailers)
    }

    private mutating func fail(_ kind: EngineFailure.Kind, _ message: String = "") -> EngineFailure {
        place = .failed
        return EngineFailure(kind: kind, message: message)
    }

    // MARK: Body

    /// Returns the next event of a body; `nil` at its trailers.
    private mutating func readBody(
        _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) throws(EngineFailure) -> Event? {
        var count = bytes.count - position
        switch framing {
        case .none: return end(count)
        case .length:
            guard rest > 0 else { return end(count) }
            count = Int(min(rest, Int64(count)))
            rest -= Int64(count)
        case .chunked:
            switch unsafe chunks.read(bytes, &position) {
            case .more: return .more
            case .bytes: count = Int(min(chunks.rest, Int64(bytes.count - position)))
            case .trailers:
                reader.beginTrailers()
                place = .trailers
                return nil
            case .malformed: throw fail(.malformedResponse, "a chunk of the body is malformed")
            case .tooLong: throw fail(.malformedResponse, "a line is longer than \(ChunkFraming.longestLine) bytes")
            }
            if count > 0 { chunks.didUse(count) }
        case .untilEnd: break
        }
        guard count > 0 else { return .more }
        position += count
        return .body(position - count..<position)
    }

    // MARK: Heads

    /// Returns the event of the next head; `nil` if it is not complete.
    private mutating func readHead(
        _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) throws(HeadFailure) -> Event? {
        if place == .statusLine {
            guard let line = unsafe try reader.readStatusLine(bytes, &position) else { return nil }
            guard line.version == .http1_1 || line.version == .http1_0 else {
                throw .badStatusLine("HTTP/2 on a connection for HTTP/1.1")
            }
            // The server must not switch protocols unless the request asks for it, and not in HTTP/1.0 (RFC 9110, section 7.8).
            let maySwitch = traits.contains(.switchesProtocols) && line.version == .http1_1
            guard line.status >= 100, line.status != 101 || maySwitch else { throw .unexpectedStatus(line.status) }
            (status, place) = (line, .fields)
        }
        guard let status, let fields = unsafe try reader.readFields(bytes, &position) else { return nil }
        let code = status.status
        let head = WireHead(version: status.version, status: code, reason: status.reason, fields: fields)
        if code < 200, code != 101 {
            place = .statusLine
            return .informational(head)
        }
        if code == 101 || traits.contains(.isConnect) && code < 300 {
            (place, closes) = (.switched, true)
            return .switched(head)
        }
        framing = try framing(of: head)
        if case .length(let length) = framing { rest = length }
        noteConnection(of: head)
        place = .body
        return .head(head)
    }

    private mutating func framing(of head: WireHead) throws(HeadFailure) -> Framing {
        if traits.contains(.isHead) || WireHead.hasNoBody(status: head.status) { return .none }
        if reader.has(CCURL_NOTE_CODING) {
            guard reader.has(CCURL_NOTE_CHUNKED) else {
                let codings = head.fields.values(of: "transfer-encoding").map { String(decoding: $0, as: UTF8.self) }
                throw .badFieldLine("Transfer-Encoding: \(codings.joined(separator: ", "))")
            }
            // A length beside the chunks, or chunks in HTTP/1.0, may be an attempt to smuggle a response (RFC 9112, section 6.1).
            if reader.contentLength != nil || head.version == .http1_0 { closes = true }
            return .chunked
        }
        if let length = reader.contentLength { return .length(length) }
        closes = true
        return .untilEnd
    }

    /// Notes whether the connection stays open, and for how long (RFC 9112, section 9.3).
    private mutating func noteConnection(of head: WireHead) {
        if reader.has(CCURL_NOTE_CLOSE) || head.version == .http1_0 && !reader.has(CCURL_NOTE_KEEP_ALIVE) {
            closes = true
        }
        if reader.has(CCURL_NOTE_KEEP_ALIVE_FIELD) { keepAliveTimeout = head.fields.keepAliveTimeout }
    }
}
