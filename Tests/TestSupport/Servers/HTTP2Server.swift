package import TrellisTesting

/// The server's side of a connection over HTTP/2, on one thread: it reads frames, and sends bodies as far as the client's windows allow.
package final class HTTP2Server {
    /// A request, as far as it has arrived.
    package struct Request {
        /// The fields of the head, with those whose names begin with a colon.
        package var fields: [HPACKDecoder.Field]
        package var body: [UInt8] = []
        package var trailers: [HPACKDecoder.Field] = []
        package var isComplete = false

        /// The value of the first field with a name.
        package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
    }

    /// What the client has done.
    package enum Event {
        case head(UInt32), body(UInt32), end(UInt32), reset(UInt32)
        /// The client has enlarged its windows, so that responses have left completely: their streams are not open any more.
        case answered
        /// The client has ended the connection, or has announced that it will.
        case left
    }

    private struct Stream {
        var request: Request
        var window: Int
        /// The bytes of the response that wait for the client's windows.
        var waiting: [UInt8] = []
        /// The frame after those bytes; `nil` if there is none yet.
        var end: [UInt8]?
    }

    package let connection: LoopbackServer.Connection
    private let transcript: HTTP2Transcript?
    private var decoder = HPACKDecoder()
    private var streams: [UInt32: Stream] = [:]
    /// The last stream that the server takes.
    private var last = UInt32.max
    /// The client's window of the connection, and that with which streams begin.
    private var window = 65_535, initialWindow = 65_535
    /// The header block that has begun: the stream, whether it ends the request, and the bytes.
    private var block: (stream: UInt32, isEnd: Bool, bytes: [UInt8])?

    package init(_ connection: LoopbackServer.Connection, transcript: HTTP2Transcript? = nil) {
        self.connection = connection
        self.transcript = transcript
    }

    /// The streams that neither side has ended or reset.
    package var openStreams: Int { streams.count }

    /// Returns the request of an open stream.
    package func request(_ stream: UInt32) -> Request? { streams[stream]?.request }

    // MARK: Receiving

    /// Reads the preface, and sends settings.
    package func begin(_ settings: [(UInt16, UInt32)] = []) throws {
        _ = try connection.read(exactly: 24)
        let values = settings.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 255)] + RawHTTP2.word($0.1) }
        try connection.write(RawHTTP2.frame(RawHTTP2.settings, 0, stream: 0, values))
    }

    /// Waits for the next event.
    package func nextEvent() throws -> Event {
        while true {
            guard let head = try? connection.read(exactly: 9) else { return .left }
            let length = head[..<3].reduce(0) { $0 << 8 | Int($1) }
            let stream = RawHTTP2.number(head[5...]) & 0x7FFF_FFFF
            guard let payload = try? connection.read(exactly: length) else { return .left }
            if let event = try receive(head[3], flags: head[4], stream, payload) { return event }
        }
    }

    private func receive(_ kind: UInt8, flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) throws -> Event? {
        let isFlagged = flags & RawHTTP2.endStream != 0
        switch kind {
        case RawHTTP2.data:
            transcript?.addData(payload.count, isEnd: isFlagged, stream, on: connection.ordinal)
            try grant(payload.count, stream, isEnd: isFlagged)
            streams[stream]?.request.body += payload
            if isFlagged { streams[stream]?.request.isComplete = true }
            return isFlagged ? .end(stream) : .body(stream)
        case RawHTTP2.headers:
            let skipped = flags & 0x20 != 0 ? 5 : 0
            block = (stream, isFlagged, Array(payload.dropFirst(skipped)))
            return flags & RawHTTP2.endHeaders != 0 ? try endBlock() : nil
        case RawHTTP2.continuation:
            block?.bytes += payload
            return flags & RawHTTP2.endHeaders != 0 ? try endBlock() : nil
        case RawHTTP2.reset:
            transcript?.add("RST_STREAM \(RawHTTP2.number(payload))", stream, on: connection.ordinal)
            streams[stream] = nil
            return .reset(stream)
        case RawHTTP2.settings where !isFlagged:
            let event = try take(settings: payload)
            try connection.write(RawHTTP2.frame(RawHTTP2.settings, RawHTTP2.acknowledgement, stream: 0))
            return event
        case RawHTTP2.ping where !isFlagged:
            try connection.write(RawHTTP2.frame(RawHTTP2.ping, RawHTTP2.acknowledgement, stream: 0, payload))
        case RawHTTP2.windowUpdate:
            let increment = Int(RawHTTP2.number(payload))
            if stream == 0 { window += increment } else { streams[stream]?.window += increment }
            return try flush()
        case RawHTTP2.goAway:
            transcript?.add("GOAWAY \(RawHTTP2.number(payload[4..<8]))", 0, on: connection.ordinal)
            return .left
        default: break
        }
        return nil
    }

    private func endBlock() throws -> Event? {
        guard let (stream, isEnd, bytes) = block else { return nil }
        block = nil
        let fields = try decoder.fields(of: bytes)
        transcript?.add(fields, isEnd: isEnd, stream, on: connection.ordinal)
        if streams[stream] == nil {
            guard stream <= last else { return nil }
            streams[stream] = Stream(request: Request(fields: fields, isComplete: isEnd), window: initialWindow)
            return .head(stream)
        }
        streams[stream]?.request.trailers = fields
        streams[stream]?.request.isComplete = isEnd
        return .end(stream)
    }

    private func take(settings payload: [UInt8]) throws -> Event? {
        var texts: [String] = []
        for start in stride(from: 0, to: payload.count - 5, by: 6) {
            let name = RawHTTP2.number(payload[start..<(start + 2)])
            let value = RawHTTP2.number(payload[(start + 2)..<(start + 6)])
            texts.append("\(name)=\(value)")
            guard name == 4 else { continue }
            for stream in streams.keys { streams[stream]?.window += Int(value) - initialWindow }
            initialWindow = Int(value)
        }
        transcript?.add("SETTINGS \(texts.joined(separator: " "))", 0, on: connection.ordinal)
        return try flush()
    }

    /// Lets the client send as many bytes as it has sent.
    private func grant(_ count: Int, _ stream: UInt32, isEnd: Bool) throws {
        guard count > 0 else { return }
        let increment = RawHTTP2.word(UInt32(count))
        try connection.write(
            RawHTTP2.frame(RawHTTP2.windowUpdate, 0, stream: 0, increment)
                + (isEnd ? [] : RawHTTP2.frame(RawHTTP2.windowUpdate, 0, stream: stream, increment)))
    }

    // MARK: Sending

    /// Sends a head, which may end the response.
    package func sendHead(
        _ stream: UInt32, status: Int, _ fields: [HPACKDecoder.Field] = [], ends: Bool = false
    ) throws {
        guard streams[stream] != nil else { return }
        let fields = [(name: ":status", value: "\(status)")] + fields
        try connection.write(RawHTTP2.head(fields, stream: stream, endsStream: ends))
        if ends { streams[stream] = nil }
    }

    /// Sends bytes of a body, as soon as the client's windows allow.
    package func sendBody(_ stream: UInt32, _ bytes: some Sequence<UInt8>) throws {
        streams[stream]?.waiting += bytes
        try flush(stream)
    }

    /// Ends a response after its body, and with trailers if there are some.
    package func sendEnd(_ stream: UInt32, trailers: [HPACKDecoder.Field] = []) throws {
        streams[stream]?.end =
            trailers.isEmpty
            ? RawHTTP2.frame(RawHTTP2.data, RawHTTP2.endStream, stream: stream)
            : RawHTTP2.head(trailers, stream: stream, endsStream: true)
        try flush(stream)
    }

    /// Resets a stream.
    package func reset(_ stream: UInt32, code: UInt32) throws {
        streams[stream] = nil
        try connection.write(RawHTTP2.frame(RawHTTP2.reset, 0, stream: stream, RawHTTP2.word(code)))
    }

    /// Sends GOAWAY, and forgets the streams that it excludes.
    package func goAway(last: UInt32, code: UInt32 = 0) throws {
        self.last = min(self.last, last)
        streams = streams.filter { $0.key <= last }
        try connection.write(
            RawHTTP2.frame(RawHTTP2.goAway, 0, stream: 0, RawHTTP2.word(last) + RawHTTP2.word(code)))
    }

    /// Sends what has waited for the client's windows. Returns an event if that has ended responses.
    private func flush() throws -> Event? {
        let count = streams.count
        for stream in streams.keys.sorted() { try flush(stream) }
        return streams.count < count ? .answered : nil
    }

    private func flush(_ number: UInt32) throws {
        guard var stream = streams[number] else { return }
        var frames: [UInt8] = []
        var start = 0
        while start < stream.waiting.count, case let size = min(window, stream.window, 16_384), size > 0 {
            let piece = stream.waiting[start..<min(start + size, stream.waiting.count)]
            frames += RawHTTP2.frame(RawHTTP2.data, 0, stream: number, Array(piece))
            start += piece.count
            window -= piece.count
            stream.window -= piece.count
        }
        stream.waiting.removeFirst(start)
        let isEnd = stream.waiting.isEmpty && stream.end != nil
        if isEnd, let end = stream.end { frames += end }
        streams[number] = isEnd ? nil : stream
        if !frames.isEmpty { try connection.write(frames) }
    }
}
