import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// A server gets the bytes that a signer has seen.
@Suite(.timeLimit(.minutes(3)))
struct SignedRequestTests {
    /// A signer that repeats everything that it sees in one field.
    private struct Mirror: RequestSigner {
        let bodies = Locked<[Data]>([])

        func sign(_ request: inout WireRequest, context: CallContext) async throws {
            let body = try await request.body?.collect(upTo: 1 << 20) ?? Data()
            bodies.withLock { $0.append(body) }
            let start = "\(request.method.rawValue) \(request.target) \(request.authority)"
            let text = Self.text(start, request.headers.map { ($0.name.rawName, $0.value) })
            request.headers["Mirror"] = Data(text.utf8).base64EncodedString()
        }

        /// Returns the first line, and the lines of the fields in any order.
        static func text(_ start: String, _ fields: [(name: String, value: String)]) -> String {
            let others = ["Mirror", "Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Expect"]
            let shown = fields.filter { field in !others.contains { field.name.hasSameToken(as: $0) } }
            return ([start] + shown.map { "\($0.name.lowercasedASCII()): \($0.value)" }.sorted()).joined(
                separator: "\n")
        }
    }

    private static func server() throws -> LoopbackServer {
        try LoopbackServer.http { request in
            let start = "\(request.method) \(request.target) \(request["Host"] ?? "")"
            let mirrored = Mirror.text(start, request.fields)
            let signed = request["Mirror"].flatMap { Data(base64Encoded: $0) }.map {
                String(decoding: $0, as: UTF8.self)
            }
            return .text(signed == mirrored ? "same" : "signed:\n\(signed ?? "nothing")\nreceived:\n\(mirrored)")
        }
    }

    private static func requests(to url: String, _ path: String) -> [Request] {
        var form = MultipartFormData()
        form.append("Ann", withName: "author")
        form.append(fileAt: path, withName: "file")
        let plain = Request(url)
        let text = String(repeating: "text ", count: 1000)
        let post = Request(url, method: .post, body: .string(text))
        return [
            plain, post, Request(url, method: .delete), Request(url, method: .post),
            post.setting(\.compression, to: .gzip),
            post.withBody(.file(path)).setting(\.compression, to: .deflate), post.withBody(.multipart(form)),
            post.withBody(
                .stream {
                    AsyncStream<Data> {
                        $0.yield(Data("a".utf8)); $0.finish()
                    }
                }),
            post.withContinueExpectation(), plain.withHeader(.accept("text/plain")),
            plain.withHeader(.cookie, "a=1; b=2").withContentDecoding(false),
            plain.withAuthorization(username: "ann", password: "p\u{E9}"),
        ]
    }

    @Test(arguments: ["/", "/caf\u{E9}/\u{65E5}\u{672C}?q=\u{E9} b", "/a/../b?x=1&x=%7E", "/?", "/%41b%2f?'\"<>"])
    func theSignedBytesAreTheReceivedOnes(_ target: String) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "trellis-\(UUID().uuidString).txt").path
        try Data("from a disk".utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let server = try Self.server()
        let mirror = Mirror()
        var configuration = SessionConfiguration()
        configuration.steps.signers = [mirror]
        configuration.steps.cookies = CookieJar()
        configuration.defaultHeaders["X-Default"] = "d"
        let session = Session(configuration: configuration)
        for request in Self.requests(to: server.url(target), path) {
            #expect(try await session.string(request) == "same", "\(request.method) \(target)")
        }
        #expect(server.requests.map(\.body) == mirror.bodies.withLock { $0 })
        await session.shutdown()
    }

    @Test func aSessionWithoutDefaultsSignsWhatItSends() async throws {
        let server = try Self.server()
        var configuration = SessionConfiguration()
        configuration.steps.signers = [Mirror()]
        (configuration.accept, configuration.userAgent, configuration.acceptLanguage) = (nil, nil, nil)
        configuration.decodesContent = false
        let session = Session(configuration: configuration)
        #expect(try await session.string(server.url("/")) == "same")
        #expect(server.requests.map { $0.fields.map(\.name) } == [["Host", "Mirror"]])
        await session.shutdown()
    }

    @Test func theHandshakeOfAWebSocketIsSigned() async throws {
        let server = try Self.server()
        var configuration = SessionConfiguration()
        configuration.steps.signers = [Mirror()]
        let session = Session(configuration: configuration)
        // The response is that of a server without WebSockets, whose body is the result.
        let error = await #expect(throws: TrellisError.self) {
            try await session.webSocket(server.url("/", scheme: "ws"))
        }
        #expect(error?.bodyExcerpt?.text == "same")
        await session.shutdown()
    }
}
