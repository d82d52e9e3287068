import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

extension TransportConformance {
    /// A host for the engines of a session, with a ``LoopbackServer`` that speaks HTTP/1.1. It has all features, so that it skips no case.
    public struct LibcurlHost: Host {
        /// The features of the host.
        public let features: Features = [.wire, .twoWay, .requestTrailers]

        /// Creates the host.
        public init() {}

        /// Starts the server, and creates the session.
        ///
        /// - Throws: ``LoopbackServer/SystemError`` when the system refuses.
        public func start(_ scenario: Scenario) throws -> any RunningHost { try RunningLibcurl(scenario) }
    }

    private struct RunningLibcurl: RunningHost {
        let session: Session
        private let server: LoopbackServer
        private let released: LoopbackServer.Waiters<Int>

        init(_ scenario: Scenario) throws {
            let released = LoopbackServer.Waiters(0)
            self.released = released
            session = Session(configuration: scenario.configuration)
            server = try LoopbackServer { connection in
                while let head = try connection.readHead() {
                    let request = scenario.beginsAtHead ? head : try connection.readBody(of: head)
                    var server = WireServer(connection, request, isComplete: !scenario.beginsAtHead)
                    let steps = scenario.script(ServedRequest(request))
                    guard try server.play(steps, { released.update { $0 += 1 } }) else { return }
                }
            }
        }

        func url(_ path: String) -> String { server.url(path) }

        func waitUntilReleased(count: Int) async throws { try await released.wait { $0 >= count } }
    }

    /// The server of one request over HTTP/1.1, with bodies in chunks.
    private struct WireServer {
        private let connection: LoopbackServer.Connection
        private let request: LoopbackServer.ReceivedRequest
        /// Whether the request's body has ended.
        private var isBodyComplete: Bool
        /// The number of bytes that are left of the chunk of the request's body that is being read.
        private var restOfChunk = 0
        /// Whether the response has a body.
        private var hasBody = false
        /// Whether the framing of the response is unknown, so that the connection has to end after it.
        private var isRaw = false

        init(
            _ connection: LoopbackServer.Connection, _ request: LoopbackServer.ReceivedRequest, isComplete: Bool
        ) {
            self.connection = connection
            self.request = request
            isBodyComplete = isComplete || request["Transfer-Encoding"]?.lowercasedASCII() != "chunked"
        }

        /// Plays the steps. Returns whether the connection may carry another request.
        mutating func play(_ steps: [Step], _ whenReleased: () -> Void) throws -> Bool {
            for step in steps {
                switch step {
                case .informational(let status, let fields): try connection.write(head(status, fields, framing: ""))
                case .head(let status, let fields):
                    hasBody = !WireHead.hasNoBody(method: request.method, status: status)
                    try connection.write(head(status, fields, framing: hasBody ? "Transfer-Encoding: chunked\r\n" : ""))
                case .body(let bytes):
                    guard hasBody, !bytes.isEmpty else { continue }
                    let size = "\(String(bytes.count, radix: 16))\r\n"
                    try connection.write(Array(size.utf8) + bytes + Array("\r\n".utf8))
                case .raw(let bytes):
                    isRaw = true
                    try connection.write(Array(bytes))
                case .wait(let gate): try connection.wait(for: gate)
                case .end(let trailers):
                    guard hasBody else { continue }
                    let lines = trailers.map { "\($0.name): \($0.value)\r\n" }.joined()
                    try connection.write("0\r\n\(lines)\r\n")
                case .receive(let bytes): guard try receive(bytes.count) == Array(bytes) else { return breakOff() }
                case .receiveEnd: guard try receive(1).isEmpty else { return breakOff() }
                case .breakOff: return breakOff()
                case .hold:
                    connection.waitUntilPeerCloses()
                    whenReleased()
                    return false
                }
            }
            while !isBodyComplete { _ = try receive(1) }
            return !isRaw
        }

        private func breakOff() -> Bool {
            connection.close()
            return false
        }

        /// Returns the next bytes of the request's body; fewer at its end.
        private mutating func receive(_ count: Int) throws -> [UInt8] {
            var bytes: [UInt8] = []
            while bytes.count < count, !isBodyComplete {
                if restOfChunk == 0 {
                    restOfChunk = Int(try connection.readLine(), radix: 16) ?? 0
                    isBodyComplete = restOfChunk == 0
                }
                let piece = min(count - bytes.count, restOfChunk)
                bytes += try connection.read(exactly: piece)
                restOfChunk -= piece
                if restOfChunk == 0 { while try !connection.readLine().isEmpty {} }
            }
            return bytes
        }

        private func head(_ status: Int, _ fields: HTTPFields, framing: String) -> String {
            "HTTP/1.1 \(status) Status\r\n" + fields.map { "\($0.name): \($0.value)\r\n" }.joined() + framing + "\r\n"
        }
    }
}

extension TransportConformance.ServedRequest {
    fileprivate init(_ request: LoopbackServer.ReceivedRequest) {
        self.init(
            method: request.method, target: request.target, fields: request.fields, body: request.body,
            trailers: request.trailers)
    }
}
