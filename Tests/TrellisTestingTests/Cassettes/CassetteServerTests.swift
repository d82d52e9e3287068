import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Trellis

@testable import TrellisTesting

/// Exchanges with a server that are recorded, and replayed when the server is gone.
@Suite(.timeLimit(.minutes(3)))
struct CassetteServerTests {
    private let folder: CassetteTestFolder

    init() throws { folder = try CassetteTestFolder() }

    /// The text `{"greeting":"hello hello hello hello","token":"s3cret"}`, compressed.
    private static let compressed =
        Data(base64Encoded: "H4sIAAAAAAACA6tWSi9KTS3JzEtXslLKSM3JyVfAIJV0lErys1PzgCqKjZOLUkuUagFa/H+9NwAAAA==")
        ?? Data()

    /// A server whose routes have all that a recording has to keep.
    private static func makeServer() throws -> LoopbackServer {
        try LoopbackServer.http { request in
            switch request.path {
            case "/redirect": .init(307, headers: [("Location", "/echo?token=s3cret")])
            case "/echo":
                .init(headers: [("Content-Type", request["Content-Type"] ?? "-")], body: request.body)
            case "/lines":
                .init(body: .chunked { body in for line in 1...3 { try body.write("line \(line)\n") } })
            case "/coded":
                .init(
                    headers: [("Content-Encoding", "gzip"), ("Content-Type", "application/json")], body: compressed)
            case "/binary": .init(headers: [("Content-Type", "image/png")], body: Data(UInt8.min...UInt8.max))
            case "/cookies":
                request["Cookie"] == nil
                    ? .init(302, headers: [("Set-Cookie", "a=b"), ("Location", "/cookies")]) : .text("sweet")
            case "/cut":
                .init(
                    body: .raw { connection in
                        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
                    })
            case "/reset": .init(body: .raw { $0.reset() })
            default: .init(404)
            }
        }
    }

    /// Returns what a client sees of the server.
    private static func conversation(_ session: Session, _ server: String) async throws -> [String] {
        var seen: [String] = []
        func text(_ data: Data) -> String { String(validating: data, as: UTF8.self) ?? "\(data.count) bytes" }
        let redirected = try await session.data(
            Request("\(server)/redirect", method: .post, body: .string("body", contentType: "a/b")))
        seen.append("\(text(redirected.0)) \(redirected.1.headers[.contentType] ?? "") \(redirected.1.redirects.count)")
        for try await line in try await session.stream("\(server)/lines").lines { seen.append(line) }
        let coded = try await session.data("\(server)/coded")
        // The token in the recorded body is scrubbed.
        let isDecoded = text(coded.0).hasPrefix(#"{"greeting":"hello hello hello hello","token":""#)
        seen.append("\(isDecoded) \(coded.1.headers[.contentEncoding] ?? "-")")
        let binary = try await session.data("\(server)/binary").0
        seen.append("\(binary == Data(UInt8.min...UInt8.max))")
        seen.append(try await session.string("\(server)/cookies"))
        for path in ["cut", "reset", "nowhere"] {
            do {
                seen.append("\(try await session.data("\(server)/\(path)").1.status.code)")
            } catch let error as TrellisError {
                seen.append("\(error.kind) \(error.phase) \(error.isRetryable)")
            }
        }
        return seen
    }

    @Test func aConversationIsReplayedWithoutItsServer() async throws {
        let server = try Self.makeServer()
        let url = server.url("")
        func session(_ mode: CassetteMode) -> (Session, CassetteTransport) {
            let transport = CassetteTransport(folder.cassette(mode))
            var configuration = SessionConfiguration()
            configuration.steps.cookies = CookieJar()
            return (Session(configuration: configuration, transport: transport), transport)
        }
        let recorded = try await Self.conversation(session(.once).0, url)
        #expect(
            recorded == [
                "body a/b 1", "line 1", "line 2", "line 3", "true gzip", "true", "sweet",
                "truncatedBody receiving true",
                "receive sending true", "404",
            ])
        let acceptedCount = server.acceptedCount
        let (replaying, transport) = session(.none)
        let replayed = try await Self.conversation(replaying, url)
        #expect(replayed == recorded)
        #expect(server.acceptedCount == acceptedCount, "nothing reaches the network")
        #expect(try await transport.unusedRecordings() == [])
        server.stop()
        #expect(try await Self.conversation(session(.none).0, url) == recorded)
        let text = try folder.text()
        #expect(!text.contains("s3cret") && text.contains("hello hello") && text.contains("token=REDACTED"))
    }

    /// A session that removes content codings itself, as with a cache, gets the recorded body without its coding.
    @Test(arguments: [false, true])
    func aSessionThatDecodesItself(_ recordsWithCache: Bool) async throws {
        let server = try Self.makeServer()
        let url = server.url("/coded")
        func send(_ mode: CassetteMode, hasCache: Bool) async throws -> String {
            var configuration = SessionConfiguration()
            if hasCache { configuration.steps.cache = HTTPCache() }
            let session = Session(configuration: configuration, transport: CassetteTransport(folder.cassette(mode)))
            return try await session.string(url)
        }
        let greeting = #"{"greeting":"hello hello hello hello","token":""#
        #expect(try await send(.once, hasCache: recordsWithCache) == "\(greeting)s3cret\"}")
        server.stop()
        for hasCache in [false, true] {
            #expect(try await send(.none, hasCache: hasCache) == "\(greeting)REDACTED\"}")
        }
    }

    /// A session without decoding sees the same in the run that records and in a replay. A coding that is not known stays.
    @Test(arguments: ["gzip", "x-odd"])
    func aSessionThatDoesNotDecode(_ coding: String) async throws {
        let body = coding == "gzip" ? Self.compressed : Data("odd".utf8)
        let server = try LoopbackServer.http { _ in .init(headers: [("Content-Encoding", coding)], body: body) }
        let url = server.url()
        var configuration = SessionConfiguration()
        configuration.decodesContent = false
        var seen: [[String?]] = []
        for mode in [CassetteMode.once, .none] {
            let transport = CassetteTransport(folder.cassette(mode))
            let session = Session(configuration: configuration, transport: transport)
            let (data, response) = try await session.data(url)
            seen.append([
                String(decoding: data.prefix(12), as: UTF8.self), response.headers[.contentEncoding],
                response.headers[.contentLength],
            ])
            let head = try await session.data(Request(url, method: .head)).1.headers
            #expect(head[.contentEncoding] == coding && head[.contentLength] == "\(body.count)")
            await session.shutdown()
            if mode == .once { server.stop() }
        }
        let expected: [String?] = coding == "gzip" ? [#"{"greeting":"#, nil, nil] : ["odd", "x-odd", "3"]
        #expect(seen == [expected, expected])
    }

    @Test func aServerThatIsNotThere() async throws {
        let url = try ClosedPort().url()
        for mode in [CassetteMode.once, .none] {
            let session = Session(transport: CassetteTransport(folder.cassette(mode)))
            let error = await #expect(throws: TrellisError.self) { try await session.data(url) }
            #expect(error?.kind == .connect && error?.phase == .connecting && error?.mayHaveSentBytes == false)
        }
    }

    /// The session under test has its own limits on time, also while it records.
    @Test func aSilentServerReachesTheLimitsOfTheSession() async throws {
        let silent = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            try connection.readRequest()
            silent.open()
            connection.waitUntilPeerCloses()
        }
        let clock = TestClock()
        let session = Session(
            configuration: SessionConfiguration(), transport: CassetteTransport(folder.cassette(.once)), clock: clock)
        let call = Task { try await session.data(server.url("/"), timeouts: Timeouts(total: .seconds(5))) }
        try await silent.opened()
        clock.move(by: .seconds(5))
        let error = await #expect(throws: TrellisError.self) { try await call.value }
        #expect(error?.kind == .totalTimeout)
    }

    @Test func theRequestIsThatOfTheSession() async throws {
        let server = try Self.makeServer()
        var configuration = SessionConfiguration()
        configuration.defaultHeaders = [.accept: "a/b"]
        configuration.userAgent = "test/1"
        for transport in [nil, CassetteTransport(folder.cassette(.once))] as [CassetteTransport?] {
            let session = Session(configuration: configuration, transport: transport)
            _ = try await session.upload(Data("x".utf8), to: server.url("/echo?q"), headers: [.contentType: "c/d"])
            await session.shutdown()
        }
        let requests = server.requests
        let fields = requests.map { $0.fields.map { "\($0.name): \($0.value)" }.sorted() }
        try #require(requests.count == 2)
        #expect(fields[0] == fields[1], "\(fields)")
        #expect(requests[0].target == requests[1].target && requests[0].body == requests[1].body)
    }
}
