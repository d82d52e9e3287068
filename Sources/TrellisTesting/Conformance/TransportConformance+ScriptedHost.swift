import FoundationEssentials
import HTTPTypes
import TrellisCore

extension TransportConformance {
    /// A host for ``ScriptedTransport``, with its own server, which acts as the network.
    ///
    /// The host has no wire, and skips the cases that need ``Features/wire``.
    public struct ScriptedHost: Host {
        /// The features of the host: it responds while a body is sent.
        public let features: Features = .twoWay

        /// Creates the host.
        public init() {}

        /// Starts the server, and creates the session.
        ///
        /// - Throws: Nothing.
        public func start(_ scenario: Scenario) throws -> any RunningHost { RunningScripted(scenario) }
    }

    private final class RunningScripted: RunningHost {
        let session: Session
        private let server: Task<Void, any Error>
        private let released = LoopbackServer.Waiters(0)

        init(_ scenario: Scenario) {
            let transport = ScriptedTransport()
            session = Session(configuration: scenario.patientConfiguration, transport: transport)
            server = Task { [released] in
                try await withThrowingDiscardingTaskGroup { group in
                    while true {
                        let attempt = try await transport.nextAttempt()
                        group.addTask {
                            var server = ScriptedServer(attempt)
                            try? await server.serve(scenario)
                        }
                        group.addTask {
                            try? await attempt.wait(for: .cancel)
                            if attempt.count(of: .cancel) > 0 { released.update { $0 += 1 } }
                        }
                    }
                }
            }
        }

        deinit { server.cancel() }

        func url(_ path: String) -> String { "http://scripted.example\(path)" }

        func waitUntilReleased(count: Int) async throws { try await released.wait { $0 >= count } }
    }

    /// The server of one attempt.
    private struct ScriptedServer {
        private let attempt: ScriptedAttempt
        /// The number of commands of the exchange that the server has read.
        private var readCommands = 0
        /// The bytes of the request's body that have arrived and that no step has waited for yet.
        private var received = Data()
        private var isBodyComplete: Bool

        init(_ attempt: ScriptedAttempt) {
            self.attempt = attempt
            isBodyComplete = !attempt.request.hasStreamedBody
        }

        mutating func serve(_ scenario: Scenario) async throws {
            attempt.connect()
            if !scenario.beginsAtHead { while !isBodyComplete { try await receive() } }
            let body = attempt.request.hasStreamedBody ? received : attempt.request.body?.data
            for step in scenario.script(ServedRequest(attempt.request, body)) { try await play(step) }
        }

        /// Receives more of the request's body, or its end.
        private mutating func receive() async throws {
            attempt.needBody()
            let index = readCommands
            try await attempt.wait { $0.count > index }
            readCommands += 1
            switch attempt.commands[index] {
            case .send(let chunk): received += chunk
            case .finishSending: isBodyComplete = true
            case .cancel: throw CancellationError()
            case .pauseReceiving, .suspend, .pauseSending, .stopSending: break
            }
        }

        private mutating func play(_ step: Step) async throws {
            switch step {
            case .informational(let status, let fields):
                attempt.receiveInformational(status: status, headers: fields)
            case .head(let status, let fields): attempt.receiveHead(status: status, headers: fields)
            case .body(let bytes):
                try await attempt.wait {
                    $0.lets(.pauseReceiving(true), .pauseReceiving(false)) && $0.lets(.suspend(true), .suspend(false))
                }
                attempt.receiveBody(bytes)
            case .wait(let gate): try await gate.opened()
            case .end(let fields): attempt.end(trailers: fields)
            case .breakOff: breakOff()
            case .hold: try await attempt.wait(for: .cancel)
            case .receive(let bytes):
                while received.count < bytes.count, !isBodyComplete { try await receive() }
                guard received.starts(with: bytes) else { return breakOff() }
                received.removeFirst(bytes.count)
            case .receiveEnd:
                while !isBodyComplete { try await receive() }
                if !received.isEmpty { breakOff() }
            case .raw: attempt.fail(.other("a step that needs a wire"))
            }
        }

        private func breakOff() {
            let hasHead = attempt.hasSentHead
            attempt.fail(
                hasHead ? .invalidResponse(.bodyCutShort("broken off")) : .exchangeFailed(.receive("broken off")))
        }
    }
}

extension [ScriptedAttempt.Command] {
    /// Returns whether the last of the two commands is not the one that stops.
    fileprivate func lets(_ stop: Element, _ go: Element) -> Bool { last { $0 == stop || $0 == go } != stop }
}
