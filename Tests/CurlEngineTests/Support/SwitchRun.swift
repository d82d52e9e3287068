import FoundationEssentials
import Testing
import TrellisTesting

@testable import CurlEngine

/// A transfer that asks its server to switch protocols, on an engine without a session.
struct SwitchRun: Sendable {
    /// The part of the outcome that came first.
    enum Outcome: Sendable {
        case switched(WireHead, SwitchedConnection)
        case ended(WireHead?, [UInt8], TransferEnd)
    }

    /// A delegate that stores the outcome of the transfer, and is used on the engine thread.
    private final class Delegate: TransferDelegate {
        private var head: WireHead?
        private var body: [UInt8] = []
        private var first: (@Sendable (Outcome) -> Void)?
        private let last: LoopbackServer.Gate
        private let connections: Locked<Int>

        init(
            _ last: LoopbackServer.Gate, counting connections: Locked<Int>,
            _ first: @escaping @Sendable (Outcome) -> Void
        ) {
            self.last = last
            self.connections = connections
            self.first = first
        }

        private func tell(_ outcome: Outcome) {
            first?(outcome)
            first = nil
        }

        func transferIsConnected() { connections.withLock { $0 += 1 } }
        func transferDidReceiveInformational(_ head: WireHead) {}
        func transferDidReceiveHead(_ head: WireHead) { self.head = head }
        func transferDidReceiveBody(_ bytes: RawSpan) {
            unsafe bytes.withUnsafeBytes { unsafe body.append(contentsOf: $0) }
        }
        func transferNeedsBody() {}
        func transferDidSwitchProtocols(_ head: WireHead, _ connection: SwitchedConnection) {
            tell(.switched(head, connection))
        }
        func transferDidEnd(_ end: TransferEnd) {
            tell(.ended(head, body, end))
            last.open()
        }
    }

    var run = EngineRun()
    /// The gate that opens when the transfer has ended.
    let end = LoopbackServer.Gate()
    /// The number of times that the connection was ready.
    let connections = Locked(0)

    static func options(
        _ url: String, route: TransferRoute = .direct, trust: TransferTrust = .system, limit: Int = 64 << 10
    ) throws -> TransferOptions {
        let lines = HeaderLines(lines: ["Upgrade: echo", "Connection: Upgrade", "X-Empty;", "Accept-Encoding:"])
        return TransferOptions(
            url: try WireURL(parsing: url), route: route, trust: trust, method: "GET", headerLines: lines,
            version: .http1, maximumHeaderBytes: limit, switchesProtocols: true)
    }

    /// Sends the request, and returns what comes first: the switched connection or the end of the transfer.
    func start(_ options: TransferOptions) async -> Outcome {
        await withContinuation { continuation in
            run.executor.submit {
                let delegate = Delegate(end, counting: connections) { continuation.resume(returning: $0) }
                _ = run.engine.start(options, delegate: delegate)
            }
        }
    }

    /// Sends the request to a server that must switch protocols.
    func connect(
        _ url: String, route: TransferRoute = .direct, trust: TransferTrust = .system,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> SwitchedConnection {
        let options = try Self.options(url, route: route, trust: trust)
        guard case .switched(let head, let connection) = await start(options) else { throw NotSwitched() }
        #expect(head.status == 101, sourceLocation: sourceLocation)
        return connection
    }

    struct NotSwitched: Error {}
}

extension SwitchedConnection {
    /// Returns exactly `count` bytes, or fewer at the end.
    func read(_ count: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count, let more = try await read() { bytes += more }
        return bytes
    }
}

extension LoopbackServer {
    static let switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n"

    /// Starts a server that switches protocols and then follows a script.
    static func switching(tls: TLS? = nil, _ script: @escaping Script) throws -> LoopbackServer {
        try LoopbackServer(tls: tls) { connection in
            guard try connection.readHead() != nil else { return }
            try connection.write(switching)
            try script(connection)
        }
    }

    /// Starts a server that switches protocols and sends back all bytes.
    static func echo(tls: TLS? = nil) throws -> LoopbackServer {
        try switching(tls: tls) { connection in
            while case let bytes = try connection.read(), !bytes.isEmpty { try connection.write(bytes) }
        }
    }
}
