import CurlEngine
import TestSupport
import TrellisTesting

/// A server of HTTP/2 that refuses requests, resets streams and leaves with GOAWAY, as the paths of requests say: `/KIND/NUMBER`.
final class UnkindServer: Sendable {
    /// What happens to a request, for the first time that it arrives. After that it is answered.
    enum Kind: String, CaseIterable {
        /// It is answered.
        case plain
        /// It is answered with ``largeLength`` bytes.
        case large
        /// It is refused twice (REFUSED_STREAM).
        case refuse
        /// The server leaves, and does not process it nor those after it.
        case away
        /// It is answered, and then the server leaves as with a graceful shutdown: with two GOAWAY frames.
        case graceful
        /// It is processed, and its stream is reset instead of a response.
        case reset
        /// It is processed, and its stream is reset in the middle of the response.
        case cut
        /// It is answered with the number of the other streams that are open.
        case open
    }

    static let largeLength = 300_000

    private struct State {
        /// The numbers of open streams, by connection.
        var open: [Int: Int] = [:]
        /// The numbers of the arrivals of requests that have no response yet.
        var arrivals: [Int: Int] = [:]
        /// The POST requests that were processed, and how many of them once more.
        var processed: Set<Int> = []
        var processedAgain = 0
        var kinds: Set<Kind> = []
    }

    let server: LoopbackServer
    private let state: Locked<State>

    /// The number of POST requests that were processed a second time.
    var processedAgain: Int { state.withLock { $0.processedAgain } }
    /// The kinds of requests that have arrived.
    var kinds: Set<Kind> { state.withLock { $0.kinds } }

    init() throws {
        let state = Locked(State())
        self.state = state
        server = try LoopbackServer { connection in
            var service = Service(HTTP2Server(connection), state)
            defer { state.withLock { $0.open[connection.ordinal] = nil } }
            try service.run()
        }
    }

    /// The service on one connection.
    private struct Service {
        private let http2: HTTP2Server
        private let state: Locked<State>
        private var isLeaving = false
        /// The last stream that was processed, which no GOAWAY may exclude.
        private var lastProcessed: UInt32 = 0

        init(_ http2: HTTP2Server, _ state: Locked<State>) {
            self.http2 = http2
            self.state = state
        }

        mutating func run() throws {
            try http2.begin([(3, 100)])
            // A server that leaves waits for the streams that it has taken.
            while !isLeaving || http2.openStreams > 0 {
                let event = try http2.nextEvent()
                state.withLock { $0.open[http2.connection.ordinal] = http2.openStreams }
                switch event {
                case .head(let stream), .body(let stream), .end(let stream):
                    guard let request = http2.request(stream), request.isComplete else { continue }
                    try serve(request, stream)
                case .reset, .answered: continue
                case .left: return
                }
                state.withLock { $0.open[http2.connection.ordinal] = http2.openStreams }
            }
        }

        private mutating func serve(_ request: HTTP2Server.Request, _ stream: UInt32) throws {
            let words = (request[":path"] ?? "").split(separator: "/")
            guard words.count == 2, let kind = Kind(rawValue: String(words[0])), let number = Int(words[1]) else {
                return try answer("no such path", stream)
            }
            let arrival = state.withLock { state in
                state.kinds.insert(kind)
                state.arrivals[number, default: 0] += 1
                return state.arrivals[number] ?? 1
            }
            switch kind {
            case .refuse where arrival <= 2: return try http2.reset(stream, code: 7)
            case .away where arrival == 1 && !isLeaving && stream > lastProcessed:
                isLeaving = true
                return try http2.goAway(last: max(lastProcessed, stream > 2 ? stream - 2 : 0))
            default: break
            }
            lastProcessed = max(lastProcessed, stream)
            process(request, number)
            let text = "\(kind) \(number) \(request.body.count)"
            switch kind {
            case .reset where arrival == 1: return try http2.reset(stream, code: 2)
            case .cut where arrival == 1:
                try http2.sendHead(stream, status: 200)
                try http2.sendBody(stream, text.utf8.dropLast())
                return try http2.reset(stream, code: 2)
            case .large: try answer(String(repeating: "x", count: UnkindServer.largeLength), stream)
            case .open: try answer("\(state.withLock { $0.open.values.reduce(0, +) } - 1)", stream)
            default: try answer(text, stream)
            }
            state.withLock { $0.arrivals[number] = nil }
            guard kind == .graceful, !isLeaving else { return }
            isLeaving = true
            try http2.goAway(last: 1 << 31 - 1)
            try http2.goAway(last: lastProcessed)
        }

        private func process(_ request: HTTP2Server.Request, _ number: Int) {
            guard request[":method"] == "POST" else { return }
            state.withLock { if !$0.processed.insert(number).inserted { $0.processedAgain += 1 } }
        }

        private func answer(_ text: String, _ stream: UInt32) throws {
            try http2.sendHead(stream, status: 200)
            try http2.sendBody(stream, text.utf8)
            try http2.sendEnd(stream)
        }
    }
}
