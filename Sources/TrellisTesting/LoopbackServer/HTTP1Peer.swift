import CurlEngine
import FoundationEssentials

/// The server's side of a connection over HTTP/1.1.
struct HTTP1Peer {
    private let connection: LoopbackServer.Connection
    private let player: FaultPlayer
    private let storesBodies: Bool

    init(_ connection: LoopbackServer.Connection, _ schedule: FaultSchedule, storesBodies: Bool) {
        self.connection = connection
        player = FaultPlayer(connection: connection, schedule: schedule)
        self.storesBodies = storesBodies
    }

    /// Responds to the requests of the connection, one after the other.
    func serve(_ handler: (LoopbackServer.ReceivedRequest) throws -> LoopbackServer.Response) throws {
        while let (head, faults) = try nextHead() {
            if head["Expect"]?.lowercasedASCII() == "100-continue" {
                try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            }
            let request = try readBody(of: head, faults)
            let answer: LoopbackServer.Response
            do {
                answer = try handler(request)
            } catch {
                connection.listener.record.update { $0.errors.append(error) }
                answer = .text("\(error)", status: 500)
            }
            guard try send(answer, to: request, with: faults) else { return }
        }
    }

    /// Reads the head of the next request, and returns it with its faults; `nil` if the peer ended the connection instead. The faults that
    /// precede the reading happen before the request is recorded.
    private func nextHead() throws -> (LoopbackServer.ReceivedRequest, ExchangeFaults)? {
        guard !player.schedule.isEmpty else {
            return try connection.readHead().map { ($0, ExchangeFaults(faults: [])) }
        }
        var faults = ExchangeFaults(faults: [])
        let head = try connection.readHead { request in
            faults = ExchangeFaults(faults: player.schedule.next(.exchange, FaultedRequest(request)))
            for fault in faults.at(.requestHead) { try player.play(fault) }
        }
        return head.map { ($0, faults) }
    }

    /// Reads the body of a request, with its faults.
    private func readBody(
        of head: LoopbackServer.ReceivedRequest, _ faults: ExchangeFaults
    ) throws -> LoopbackServer.ReceivedRequest {
        var rest = faults.inRequest[...]
        return try connection.readBody(of: head, storing: storesBodies) { count in
            while let next = rest.first, next.after < count {
                rest = rest.dropFirst()
                try player.play(next.fault)
            }
        }
    }

    /// Sends a response with its faults; returns whether the connection may carry another request.
    private func send(
        _ answer: LoopbackServer.Response, to request: LoopbackServer.ReceivedRequest, with faults: ExchangeFaults
    ) throws -> Bool {
        for fault in faults.at(.responseHead) { try player.play(fault) }
        let length: Int?
        let produce: (LoopbackServer.BodyWriter) throws -> Void
        var (whole, isSilent): (Data?, Bool) = (nil, false)
        switch answer.body {
        case .raw(let act):
            try act(connection)
            return false
        case .bytes(let data):
            length = data.count
            produce = { try $0.write(Array(data)) }
            (whole, isSilent) = (data, WireHead.hasNoBody(status: answer.status))
        case .sized(let count, let write):
            length = count
            produce = write
        case .chunked(let write):
            length = nil
            produce = write
        }
        let framing = ResponseFraming(length, faults, isSilent: isSilent)
        for fault in framing.wrongLengths { player.schedule.begin(.framing(fault)) }
        let fields = answer.headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        let head = "HTTP/1.1 \(answer.status) \(reasonPhrase(answer.status))\r\n\(fields)\(framing.fields)\r\n"
        let hasNoBody = WireHead.hasNoBody(method: request.method, status: answer.status)
        if faults.isEmpty, let whole {
            // In one write, which a client mostly receives at once.
            try connection.write(Array(head.utf8) + (hasNoBody ? [] : Array(whole)))
            return request.keepsConnection
        }
        try connection.write(head)
        guard !hasNoBody else { return request.keepsConnection }
        let body = faults.isEmpty ? nil : BodyFaults(faults.faults, player)
        try produce(.init(connection: connection, isChunked: framing.isChunked, faults: body))
        if let fault = body?.atEnd { try player.play(fault) }
        for fault in faults.at(.end) { try player.play(fault) }
        // A body of a wrong length has no other end than the connection's.
        guard faults.framing.isEmpty else { return false }
        if framing.isChunked { try connection.write("0\r\n\r\n") }
        return request.keepsConnection
    }
}

extension LoopbackServer.ReceivedRequest {
    /// Whether the connection may carry another request.
    var keepsConnection: Bool { version != "HTTP/1.0" && self["Connection"]?.lowercasedASCII() != "close" }
}

/// Returns the usual reason phrase of a status; a placeholder for unusual ones, as clients ignore the phrase.
func reasonPhrase(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 204: "No Content"
    case 206: "Partial Content"
    case 304: "Not Modified"
    case 404: "Not Found"
    case 500: "Internal Server Error"
    case 503: "Service Unavailable"
    default: "Status"
    }
}
