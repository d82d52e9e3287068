import FoundationEssentials
import HTTPTypes
import Trellis

extension TransportConformance {
    /// A host for ``MockTransport``, with a server of its own.
    public struct MockHost: Host {
        /// Creates the host.
        public init() {}

        /// Starts the server, and creates the session.
        public func start(_ script: @escaping Script) throws -> any RunningHost { RunningMock(script) }
    }

    /// A host for ``ScriptedTransport``, with a server of its own, which acts as the network.
    public struct ScriptedHost: Host {
        /// Creates the host.
        public init() {}

        /// Starts the server, and creates the session.
        public func start(_ script: @escaping Script) throws -> any RunningHost { RunningScripted(script) }
    }

    /// The configuration without a limit on connecting: a script is a task among others, and on a busy machine it may be a while
    /// before the script runs.
    private static let patient: SessionConfiguration = {
        var configuration = SessionConfiguration()
        configuration.timeouts.connect = nil
        return configuration
    }()

    private struct RunningMock: RunningHost {
        let session: Session
        private let transport: MockTransport

        init(_ script: @escaping Script) {
            transport = MockTransport { request in
                try await Self.answer(script(ServedRequest(request, request.bodyData)))
            }
            session = Session(configuration: TransportConformance.patient, transport: transport)
        }

        func url(_ path: String) -> String { "http://mock.example\(path)" }

        func waitUntilReleased(count: Int) async throws { try await transport.waitUntilCancelled(count: count) }

        private static func answer(_ steps: [Step]) async throws -> MockResponse {
            var informational: [ResponseHead] = []
            var trailers: HTTPFields = HTTPFields()
            var head: (status: Int, fields: HTTPFields)?
            for step in steps {
                switch step {
                case .informational(let status, let fields):
                    informational.append(ResponseHead(status: .init(code: status), headers: fields))
                case .head(let status, let fields): head = (status, fields)
                case .end(let fields): trailers = fields
                case .hold where head == nil: try await LoopbackServer.Gate().opened()
                case .breakOff where head == nil: throw TransportFailure(.exchangeFailed(.receive("broken off")))
                case .body, .wait, .breakOff, .hold: break
                }
            }
            var response = MockResponse(status: head?.status ?? 0, headers: head?.fields ?? [:]) { writer in
                for step in steps { try await play(step, writer) }
            }
            response.informational = informational
            response.trailers = trailers
            return response
        }

        private static func play(_ step: Step, _ writer: MockResponse.Writer) async throws {
            switch step {
            case .body(let bytes): try await writer.write(bytes)
            case .wait(let gate): try await gate.opened()
            case .breakOff: throw TransportFailure(.invalidResponse(.bodyCutShort("broken off")))
            case .hold: try await LoopbackServer.Gate().opened()
            case .informational, .head, .end: break
            }
        }
    }

    private final class RunningScripted: RunningHost {
        let session: Session
        private let server: Task<Void, any Error>
        private let released = LoopbackServer.Waiters(0)

        init(_ script: @escaping Script) {
            let transport = ScriptedTransport()
            session = Session(configuration: TransportConformance.patient, transport: transport)
            server = Task { [released] in
                try await withThrowingDiscardingTaskGroup { group in
                    while true {
                        let attempt = try await transport.nextAttempt()
                        group.addTask { try? await Self.serve(attempt, script) }
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

        private static func serve(_ attempt: ScriptedAttempt, _ script: Script) async throws {
            attempt.connect()
            if attempt.request.hasStreamedBody {
                var sent = 0
                while attempt.count(of: .finishSending) == 0 {
                    attempt.needBody()
                    let known = sent
                    try await attempt.wait { $0.contains(.finishSending) || $0.contains(.cancel) || $0.count > known }
                    if attempt.count(of: .cancel) > 0 { return }
                    sent = attempt.commands.count
                }
            }
            let body = attempt.request.hasStreamedBody ? attempt.sentBody : attempt.request.bodyData
            for step in script(ServedRequest(attempt.request, body)) { try await play(step, attempt) }
        }

        private static func play(_ step: Step, _ attempt: ScriptedAttempt) async throws {
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
            case .breakOff:
                let hasHead = attempt.hasSentHead
                attempt.fail(
                    hasHead ? .invalidResponse(.bodyCutShort("broken off")) : .exchangeFailed(.receive("broken off")))
            case .hold: try await attempt.wait(for: .cancel)
            }
        }
    }
}

extension [ScriptedAttempt.Command] {
    /// Returns whether the last of the two commands is not the one that stops.
    fileprivate func lets(_ stop: Element, _ go: Element) -> Bool { last { $0 == stop || $0 == go } != stop }
}

extension TransportConformance.ServedRequest {
    fileprivate init(_ request: TransportRequest, _ body: Data?) {
        let path = request.url.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" }
        self.init(
            method: request.request.method.rawValue, target: String(path),
            fields: request.request.headers.map { ($0.name.rawName, $0.value) }, body: body ?? Data())
    }
}
