import CurlEngine
import FoundationEssentials
import HTTPTypes
import TestSupport
@_spi(Transport) import Trellis

@testable import TrellisTesting

/// A host for the engine's HTTP/2, with a server that records the frames of the client.
///
/// The host plays all steps but ``TransportConformance/Step/raw(_:)-swift.enum.case``, which are bytes of HTTP/1.1.
final class HTTP2ConformanceHost: TransportConformance.Host {
    /// The features of the host.
    static let features: TransportConformance.Features = [.wire, .twoWay, .requestTrailers]
    var features: TransportConformance.Features { Self.features }
    let transcript = HTTP2Transcript()
    private let tls: LoopbackServer.TLS?
    private let servers = Locked<[LoopbackServer]>([])

    /// Creates the host.
    ///
    /// - Parameter isSecure: Whether the connections use TLS.
    init(isSecure: Bool) throws { tls = try isSecure ? LoopbackServer.TLS() : nil }

    func start(_ scenario: TransportConformance.Scenario) throws -> any TransportConformance.RunningHost {
        let running = try RunningHTTP2(scenario, tls, transcript)
        servers.withLock { $0.append(running.server) }
        return running
    }

    /// Returns the frames of the client, once all connections have ended.
    func frames() async throws -> [String] {
        for server in servers.withLock({ $0 }) { try await server.waitUntilAllClosed() }
        return transcript.text
    }
}

private struct RunningHTTP2: TransportConformance.RunningHost {
    let session: Session
    let server: LoopbackServer
    private let released: LoopbackServer.Waiters<Int>

    init(
        _ scenario: TransportConformance.Scenario, _ tls: LoopbackServer.TLS?, _ transcript: HTTP2Transcript
    ) throws {
        let released = LoopbackServer.Waiters(0)
        self.released = released
        server = try LoopbackServer(tls: tls) { connection in
            var player = StreamPlayer(HTTP2Server(connection, transcript: transcript), scenario)
            let count = try player.play { released.update { $0 += 1 } }
            released.update { $0 += count }
        }
        var configuration = server.sessionConfiguration(scenario.configuration)
        configuration.httpVersion = .http2PriorKnowledge
        session = Session(configuration: configuration)
    }

    func url(_ path: String) -> String { server.url(path) }

    func waitUntilReleased(count: Int) async throws { try await released.wait { $0 >= count } }
}

/// The scripts of all streams of a connection.
private struct StreamPlayer {
    private struct Play {
        var steps: ArraySlice<TransportConformance.Step>
        let isHead: Bool
        var hasBody = false
        /// The number of bytes of the request's body that steps have waited for.
        var received = 0
        var isHeld = false
    }

    private let server: HTTP2Server
    private let scenario: TransportConformance.Scenario
    private var plays: [UInt32: Play] = [:]
    private var isBroken = false

    init(_ server: HTTP2Server, _ scenario: TransportConformance.Scenario) {
        self.server = server
        self.scenario = scenario
    }

    /// Plays until the connection ends. Returns the number of exchanges that were held then.
    mutating func play(whenReleased: () -> Void) throws -> Int {
        try server.begin()
        while !isBroken {
            switch try server.nextEvent() {
            case .head(let stream), .body(let stream), .end(let stream): try advance(stream)
            case .reset(let stream):
                if plays.removeValue(forKey: stream)?.isHeld == true { whenReleased() }
            case .answered: continue
            case .left: return plays.values.count(where: \.isHeld)
            }
        }
        return 0
    }

    private mutating func advance(_ stream: UInt32) throws {
        guard let request = server.request(stream) else { return }
        if plays[stream] == nil, scenario.beginsAtHead || request.isComplete {
            let steps = scenario.script(TransportConformance.ServedRequest(request))
            plays[stream] = Play(steps: steps[...], isHead: request[":method"] == "HEAD")
        }
        guard var play = plays[stream] else { return }
        while let step = play.steps.first, try perform(step, stream, request, &play) { play.steps.removeFirst() }
        plays[stream] = play
    }

    /// Performs a step; returns `false` if it waits for the client.
    private mutating func perform(
        _ step: TransportConformance.Step, _ stream: UInt32, _ request: HTTP2Server.Request, _ play: inout Play
    ) throws -> Bool {
        switch step {
        case .informational(let status, let fields):
            try server.sendHead(stream, status: status, fields.pairs)
        case .head(let status, let fields):
            play.hasBody = !play.isHead && status != 204 && status != 304
            try server.sendHead(stream, status: status, fields.pairs)
        case .body(let bytes): if play.hasBody { try server.sendBody(stream, bytes) }
        case .wait(let gate): try server.connection.wait(for: gate)
        case .end(let trailers): try server.sendEnd(stream, trailers: trailers.pairs)
        case .breakOff:
            isBroken = true
            return false
        case .hold:
            play.isHeld = true
            return false
        case .receive(let bytes):
            let end = play.received + bytes.count
            guard request.body.count >= end else { return false }
            guard request.body[play.received..<end].elementsEqual(bytes) else { throw OtherBytes() }
            play.received = end
        case .receiveEnd:
            guard request.isComplete else { return false }
            guard request.body.count == play.received else { throw OtherBytes() }
        case .raw: throw RawStep()
        }
        return true
    }
}

/// The error of a client that has sent other bytes than the script expects.
private struct OtherBytes: Error {}

/// The error of a script with bytes of HTTP/1.1, which have no meaning here.
private struct RawStep: Error {}

extension HTTPFields {
    fileprivate var pairs: [HPACKDecoder.Field] { map { (name: $0.name.rawName, value: $0.value) } }
}

extension TransportConformance.ServedRequest {
    fileprivate init(_ request: HTTP2Server.Request) {
        self.init(
            method: request[":method"] ?? "", target: request[":path"] ?? "",
            fields: request.fields.filter { !$0.name.hasPrefix(":") }, body: Data(request.body),
            trailers: request.trailers)
    }
}
