import FoundationEssentials
import HTTPTypes
import TrellisCore

extension TransportConformance {
    /// A host for ``MockTransport``, with its own server.
    ///
    /// The host has no ``Features``, and skips the cases that need one (``TransportConformance/cases(for:)``): a mock has no bytes to
    /// parse, and its handler is called with the complete request.
    public struct MockHost: Host {
        /// Creates the host.
        public init() {}

        /// Starts the server, and creates the session.
        ///
        /// - Throws: Nothing.
        public func start(_ scenario: Scenario) throws -> any RunningHost { RunningMock(scenario) }
    }

    private struct RunningMock: RunningHost {
        let session: Session
        private let transport: MockTransport

        init(_ scenario: Scenario) {
            transport = MockTransport { request in
                try await Self.answer(scenario.script(ServedRequest(request, request.body?.data)))
            }
            session = Session(configuration: scenario.patientConfiguration, transport: transport)
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
                case .raw, .receive, .receiveEnd: throw TransportFailure(.other("a step that a mock cannot play"))
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
            case .informational, .head, .end, .raw, .receive, .receiveEnd: break
            }
        }
    }
}

extension TransportConformance.Scenario {
    /// The settings without a limit on connecting: a script is a task among others, and on a busy machine it may be a while before the
    /// script runs.
    var patientConfiguration: SessionConfiguration {
        var configuration = configuration
        configuration.timeouts.connect = nil
        return configuration
    }
}

extension TransportConformance.ServedRequest {
    /// Creates the request that a transport without a wire got.
    init(_ request: TransportRequest, _ body: Data?) {
        let path = request.url.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst(3).drop { $0 != UInt8(ascii: "/") }
        self.init(
            method: request.request.method.rawValue, target: String(Substring(path)),
            fields: request.request.headers.map { ($0.name.rawName, $0.value) }, body: body ?? Data())
    }
}
