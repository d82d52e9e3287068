import Testing
import Trellis
import TrellisTesting

/// A request of another client is sent as that client has made it.
@Suite(.timeLimit(.minutes(3)))
struct RelayedRequestTests {
    /// The configuration with which a session adds nothing to requests.
    private static var plain: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.accept = nil
        configuration.acceptLanguage = nil
        configuration.userAgent = nil
        configuration.decodesContent = false
        return configuration
    }

    private static func unchanged(_ url: String) -> Request { Request(url).setting(\.sendsURLUnchanged, to: true) }

    /// Returns the names of the fields of a request that a session sends.
    private func names(
        _ configuration: SessionConfiguration, _ changes: (inout Request) -> Void
    ) async throws -> [String] {
        let server = try LoopbackServer.http { _ in .text("ok") }
        let session = Session(configuration: configuration)
        _ = try await session.data(Request(server.url("/")).modified(by: changes))
        await session.shutdown()
        try await server.waitUntilAllClosed()
        return server.requests[0].fields.map { $0.name }
    }

    @Test func nothingIsAdded() async throws {
        #expect(try await names(Self.plain) { _ in } == ["Host"])
        #expect(try await names(Self.plain) { $0.headers[.range] = "bytes=0-" } == ["Host", "Range"])
        #expect(try await names(Self.plain) { $0.headers[.accept] = "a/b" } == ["Host", "Accept"])
        let withBody = try await names(Self.plain) { $0.body = .string("a", contentType: nil) }
        #expect(Set(withBody) == ["Host", "Content-Length"])
    }

    @Test func acceptIsThatOfTheSessionOrOfTheRequest() async throws {
        let server = try LoopbackServer.http { .text($0.values(of: "Accept").joined(separator: " and ")) }
        for (accept, own, wanted) in [
            ("*/*", nil, "*/*"), ("*/*", "a/b", "a/b"), ("c/d", nil, "c/d"), ("c/d", "a/b", "a/b"), (nil, nil, ""),
            (nil, "a/b", "a/b"),
        ] as [(String?, String?, String)] {
            var configuration = SessionConfiguration()
            configuration.accept = accept
            let session = Session(configuration: configuration)
            let request = Request(server.url("/")).modified { $0.headers[.accept] = own }
            #expect(String(decoding: try await session.data(request).0, as: UTF8.self) == wanted)
            await session.shutdown()
        }
        try await server.waitUntilAllClosed()
    }

    @Test func aTargetIsSentUnchangedAndTheNextOneAsUsual() async throws {
        let server = try LoopbackServer.http { _ in .text("ok") }
        let session = Session()
        let target = "/a/../b/%2e%2e/\"<>{}|\\^`?q=\"{}"
        // The connection is used again.
        for _ in 1...2 {
            let (_, response) = try await session.data(Self.unchanged(server.url(target)))
            #expect(response.url == server.url(target))
            _ = try await session.data(server.url("/a/../b"))
        }
        #expect(server.requests.map(\.target) == [target, "/b", target, "/b"])
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test func optionsForAURLWithoutAPathAskAboutTheServer() async throws {
        let server = try LoopbackServer.http { _ in .text("ok") }
        let session = Session()
        _ = try await session.data(Self.unchanged(server.url("")).setting(\.method, to: .options))
        _ = try await session.data(Self.unchanged(server.url("/")).setting(\.method, to: .options))
        _ = try await session.data(Self.unchanged(server.url("")))
        _ = try await session.data(Request(server.url(""), method: .options))
        #expect(server.requests.map(\.target) == ["*", "/", "/", "/"])
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test func aTargetThatCannotBeSentUnchangedIsAnError() async throws {
        let server = try Misbehaviour { _, _ in }
        for path in ["/ü", "/a b", "/a#b"] {
            await server.fails(with: .invalidURL, sending: Self.unchanged(server.server.url(path)))
        }
        try await server.isHealthyAndLeavesNothing()
    }

    @Test func aRedirectIsSentAsUsual() async throws {
        let server = try LoopbackServer.http { request in
            request.target == "/a/../b" ? .init(302, headers: [(name: "Location", value: "/c/../d e")]) : .text("ok")
        }
        let session = Session()
        _ = try await session.data(Self.unchanged(server.url("/a/../b")))
        #expect(server.requests.map(\.target) == ["/a/../b", "/d%20e"])
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test func aRequestThatIsSentOnceIsNotRepeatedOnAnotherConnection() async throws {
        let server = try LoopbackServer { connection in
            while let request = try connection.nextRequest() {
                if request.path == "/2" { return connection.close() }
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let session = Session()
        _ = try await session.data(server.url("/1"))
        await #expect(throws: TrellisError.self) {
            try await session.data(Request(server.url("/2")).setting(\.isSentOnce, to: true))
        }
        #expect(server.requests.map(\.path) == ["/1", "/2"])
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test func informationalHeadsArriveBeforeTheResponse() async throws {
        let isRead = LoopbackServer.Gate()
        let server = try Misbehaviour { connection, _ in
            try connection.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n")
            try connection.wait(for: isRead)
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let heads = InformationalHeads()
        async let answer = server.session.data(server.request.setting(\.informationalHeads, to: heads))
        var iterator = heads.makeAsyncIterator()
        let first = await iterator.next()
        #expect(first?.status.code == 103 && first?.headers.first?.value == "</a>")
        #expect(await iterator.next()?.status.code == 102)
        isRead.open()
        #expect(try await answer.1.informational.count == 2)
        heads.finish()
        #expect(await iterator.next() == nil)
        try await server.isHealthyAndLeavesNothing()
    }
}
