import FoundationEssentials
import HTTPTypes
import TrellisCore

extension TransportConformance {
    /// A host for ``InProcessTransport``, with its own server.
    ///
    /// The host has no wire, and skips the cases that need ``Features/wire``.
    public struct InProcessHost: Host {
        /// The features of the host: it responds while a body is sent, and receives the fields after it.
        public let features: Features = [.twoWay, .requestTrailers]

        /// Creates the host.
        public init() {}

        /// Starts the server, and creates the session.
        ///
        /// - Throws: Nothing.
        public func start(_ scenario: Scenario) throws -> any RunningHost { RunningInProcess(scenario) }
    }

    private struct RunningInProcess: RunningHost {
        let session: Session
        private let transport: InProcessTransport

        init(_ scenario: Scenario) {
            transport = InProcessTransport { request in try await Self.respond(to: request, scenario) }
            session = Session(configuration: scenario.patientConfiguration, transport: transport)
        }

        func url(_ path: String) -> String { "http://process.example\(path)" }

        func waitUntilReleased(count: Int) async throws { try await transport.waitUntilCancelled(count: count) }

        private static func respond(
            to request: InProcessRequest, _ scenario: Scenario
        ) async throws -> MockResponse {
            let body = scenario.beginsAtHead ? nil : try await request.body.collect()
            var served = ServedRequest(request.request, body)
            served.trailers = request.body.trailers.map { (name: $0.name.rawName, value: $0.value) }
            var steps = scenario.script(served)[...]
            while let step = steps.popFirst() {
                switch step {
                case .informational(let status, let fields):
                    try await request.sendInformational(status: status, headers: fields)
                case .head(let status, let fields):
                    let (rest, reader) = (steps, BodyReader(request.body))
                    return MockResponse(status: status, headers: fields) { writer in
                        for step in rest { try await play(step, writer, reader: reader) }
                    }
                case .wait(let gate): try await gate.opened()
                case .hold: try await LoopbackServer.Gate().opened()
                case .breakOff: throw TransportFailure(.exchangeFailed(.receive("broken off")))
                case .raw, .body, .end, .receive, .receiveEnd:
                    throw TransportFailure(.other("a step that needs a head before it"))
                }
            }
            throw TransportFailure(.other("a script without a head"))
        }

        private static func play(
            _ step: Step, _ writer: MockResponse.Writer, reader: BodyReader
        ) async throws {
            switch step {
            case .body(let bytes): try await writer.write(bytes)
            case .wait(let gate): try await gate.opened()
            case .end(let fields): writer.setTrailers(fields)
            case .hold: try await LoopbackServer.Gate().opened()
            case .receive(let bytes): try await reader.expect(bytes)
            case .receiveEnd: try await reader.expectEnd()
            case .breakOff: throw TransportFailure(.invalidResponse(.bodyCutShort("broken off")))
            case .informational, .head, .raw: throw TransportFailure(.other("a step that a mock cannot play"))
            }
        }
    }

    /// The reader of a request's body, piece by piece.
    private actor BodyReader {
        private let body: InProcessBody
        /// The bytes that have arrived and that no step has waited for yet.
        private var received = Data()

        init(_ body: InProcessBody) { self.body = body }

        /// Waits until the next bytes have arrived.
        func expect(_ bytes: Data) async throws {
            while received.count < bytes.count, let chunk = try await next() { received.append(chunk) }
            guard received.starts(with: bytes) else { throw TransportFailure(.exchangeFailed(.receive("other bytes"))) }
            received = Data(received.dropFirst(bytes.count))
        }

        /// Waits for the end of the body.
        func expectEnd() async throws {
            guard received.isEmpty, try await next() == nil else {
                throw TransportFailure(.exchangeFailed(.receive("further bytes")))
            }
        }

        private func next() async throws -> Data? {
            var iterator = body.makeAsyncIterator()
            return try await iterator.next()
        }
    }
}
