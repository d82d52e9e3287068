import CurlEngine

/// The server's side of a connection over HTTP/2.
struct HTTP2Peer {
    /// The types of frames (RFC 9113, section 6).
    private enum Kind {
        static let data: UInt8 = 0, headers: UInt8 = 1, resetStream: UInt8 = 3, settings: UInt8 = 4
        static let ping: UInt8 = 6, goAway: UInt8 = 7, windowUpdate: UInt8 = 8, continuation: UInt8 = 9
    }

    /// The flags of frames.
    private enum Flag {
        static let endStream: UInt8 = 1, acknowledgement: UInt8 = 1, endHeaders: UInt8 = 4
    }

    private struct Frame {
        let kind: UInt8
        let flags: UInt8
        let stream: UInt32
        let payload: [UInt8]
    }

    /// A request that has not arrived completely.
    private struct OpenRequest {
        let faults: [Fault]
        /// The faults in the body that have not happened yet.
        var inBody: ArraySlice<(after: Int, fault: Fault)>
        /// The number of bytes of the body that have arrived.
        var count = 0
    }

    private let connection: LoopbackServer.Connection
    private let player: FaultPlayer
    private let response: LoopbackServer.Response

    init(
        _ connection: LoopbackServer.Connection, _ schedule: FaultSchedule, response: LoopbackServer.Response
    ) {
        self.connection = connection
        player = FaultPlayer(connection: connection, schedule: schedule)
        self.response = response
    }

    func serve() throws {
        // The preface of the client (RFC 9113, section 3.4).
        _ = try connection.read(exactly: 24)
        try send(Kind.settings, flags: 0, stream: 0, [])
        var requests: [UInt32: OpenRequest] = [:]
        while true {
            let frame = try nextFrame()
            let isAcknowledgement = frame.flags & Flag.acknowledgement != 0
            switch frame.kind {
            case Kind.settings where !isAcknowledgement:
                try send(Kind.settings, flags: Flag.acknowledgement, stream: 0, [])
            case Kind.ping where !isAcknowledgement:
                try send(Kind.ping, flags: Flag.acknowledgement, stream: 0, frame.payload)
            case Kind.headers, Kind.data:
                let isLast = frame.flags & Flag.endStream != 0
                // A second head has the trailers.
                var request = try requests.removeValue(forKey: frame.stream) ?? beginRequest()
                if frame.kind == Kind.data {
                    try take(frame.payload.count, of: &request)
                    try openWindows(after: frame, isLast: isLast)
                }
                if isLast { try respond(on: frame.stream, request.faults) } else { requests[frame.stream] = request }
            case Kind.resetStream: requests[frame.stream] = nil
            case Kind.goAway: return
            default: break
            }
        }
    }

    /// Begins a request, with the faults that are planned for it.
    private func beginRequest() throws -> OpenRequest {
        let faults = ExchangeFaults(faults: player.schedule.next(.exchange, nil))
        for fault in faults.at(.requestHead) { try player.play(fault) }
        return OpenRequest(faults: faults.faults, inBody: faults.inRequest[...])
    }

    /// Counts bytes of a request's body, and performs the faults that they have passed.
    private func take(_ count: Int, of request: inout OpenRequest) throws {
        request.count += count
        while let next = request.inBody.first, next.after < request.count {
            request.inBody = request.inBody.dropFirst()
            try player.play(next.fault)
        }
    }

    /// Lets the client send as many bytes as the frame had, on the connection and on its stream (RFC 9113, section 6.9).
    private func openWindows(after frame: Frame, isLast: Bool) throws {
        guard !frame.payload.isEmpty else { return }
        let length = Self.bytes(UInt32(frame.payload.count))
        try send(Kind.windowUpdate, flags: 0, stream: 0, length)
        if !isLast { try send(Kind.windowUpdate, flags: 0, stream: frame.stream, length) }
    }

    private func nextFrame() throws -> Frame {
        let head = try connection.read(exactly: 9)
        let length = head[..<3].reduce(0) { $0 << 8 | Int($1) }
        let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return Frame(
            kind: head[3], flags: head[4], stream: stream & 0x7FFF_FFFF, payload: try connection.read(exactly: length))
    }

    private func send(_ kind: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) throws {
        let length = payload.count
        let size = [UInt8(length >> 16), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF)]
        try connection.write(size + [kind, flags] + Self.bytes(stream) + payload)
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }

    // MARK: Responses

    private func respond(on stream: UInt32, _ faults: [Fault]) throws {
        for fault in faults where fault.moment == .responseHead { guard try play(fault, on: stream) else { return } }
        try send(Kind.headers, flags: Flag.endHeaders, stream: stream, headBlock)
        var bytes: ArraySlice<UInt8> = []
        if case .bytes(let data) = response.body { bytes = Array(data)[...] }
        var body = FaultedBody(faults)
        var pauses = DripPauses(player)
        while !bytes.isEmpty {
            switch body.step(available: min(bytes.count, 16_384)) {
            case .send(let count):
                try send(Kind.data, flags: 0, stream: stream, Array(bytes.prefix(count)))
                bytes = bytes.dropFirst(count)
            case .play(let fault): guard try play(fault, on: stream) else { return }
            case .wait(let fault, let pause): try pauses.wait(for: pause, of: fault)
            }
        }
        for fault in faults where fault.moment == .end { guard try play(fault, on: stream) else { return } }
        try send(Kind.data, flags: Flag.endStream, stream: stream, [])
    }

    /// Performs a fault; returns whether the response continues after it.
    private func play(_ fault: Fault, on stream: UInt32) throws -> Bool {
        switch fault {
        case .http2(.resetStream(let code, _)):
            player.schedule.begin(fault)
            try send(Kind.resetStream, flags: 0, stream: stream, Self.bytes(code.rawValue))
            return false
        case .http2(.goAway(let code)):
            player.schedule.begin(fault)
            try send(Kind.goAway, flags: 0, stream: 0, Self.bytes(stream) + Self.bytes(code.rawValue))
            throw LoopbackServer.Interruption.closedByScript
        default:
            try player.play(fault)
            return true
        }
    }

    /// The head in the form of HPACK without compression (RFC 7541, sections 5.1 and 6.2.2).
    private var headBlock: [UInt8] {
        // The field `:status` is the eighth one of the static table.
        [0x08] + Self.literal("\(response.status)")
            + response.headers.flatMap { [0x00] + Self.literal($0.name.lowercasedASCII()) + Self.literal($0.value) }
    }

    private static func literal(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var (rest, length): (Int, [UInt8]) = (bytes.count - 127, [127])
        while rest >= 128 {
            length.append(UInt8(rest & 0x7F | 0x80))
            rest >>= 7
        }
        return length + [UInt8(rest)] + bytes
    }
}
