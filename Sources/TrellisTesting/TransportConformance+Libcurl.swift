import FoundationEssentials
import HTTPTypes
import Trellis

extension TransportConformance {
    /// A host for libcurl, with a ``LoopbackServer`` that speaks HTTP/1.1.
    public struct LibcurlHost: Host {
        /// Creates the host.
        public init() {}

        /// Starts the server, and creates the session.
        public func start(_ script: @escaping Script) throws -> any RunningHost { try RunningLibcurl(script) }
    }

    private struct RunningLibcurl: RunningHost {
        let session = Session()
        private let server: LoopbackServer
        private let released: LoopbackServer.Waiters<Int>

        init(_ script: @escaping Script) throws {
            let released = LoopbackServer.Waiters(0)
            self.released = released
            server = try LoopbackServer { connection in
                while let request = try connection.nextRequest() {
                    guard try connection.play(script(ServedRequest(request)), request, { released.update { $0 += 1 } })
                    else { return }
                }
            }
        }

        func url(_ path: String) -> String { server.url(path) }

        func waitUntilReleased(count: Int) async throws { try await released.wait { $0 >= count } }
    }
}

extension LoopbackServer.Connection {
    /// Plays the steps over HTTP/1.1, bodies in chunks. Returns whether the connection may carry another request.
    fileprivate func play(
        _ steps: [TransportConformance.Step], _ request: LoopbackServer.ReceivedRequest, _ whenReleased: () -> Void
    ) throws -> Bool {
        var hasBody = false
        for step in steps {
            switch step {
            case .informational(let status, let fields): try write(head(status, fields, ""))
            case .head(let status, let fields):
                hasBody = status != 204 && status != 304
                try write(head(status, fields, hasBody ? "Transfer-Encoding: chunked\r\n" : ""))
            case .body(let bytes):
                guard hasBody, !bytes.isEmpty else { continue }
                try write(Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8))
            case .wait(let gate): try wait(for: gate)
            case .end(let trailers):
                if hasBody { try write("0\r\n" + trailers.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n") }
            case .breakOff:
                close()
                return false
            case .hold:
                waitUntilPeerCloses()
                whenReleased()
                return false
            }
        }
        return true
    }

    private func head(_ status: Int, _ fields: HTTPFields, _ framing: String) -> String {
        "HTTP/1.1 \(status) Status\r\n" + fields.map { "\($0.name): \($0.value)\r\n" }.joined() + framing + "\r\n"
    }
}

extension TransportConformance.ServedRequest {
    fileprivate init(_ request: LoopbackServer.ReceivedRequest) {
        self.init(method: request.method, target: request.target, fields: request.fields, body: request.body)
    }
}
