import HTTPTypes
import Testing
import Trellis
import TrellisTestTraits
import TrellisTesting

/// Line ends and NULs in the values of a caller never become lines of the request.
@Suite(.timeLimit(.minutes(3)))
struct InjectionTests {
    static let values: [Escaped] = [
        "a\r\nInjected: 1", "a\nInjected: 1", "a\rInjected: 1", "a\0b", "a\r\n\r\nGET /evil HTTP/1.1",
    ]

    @Test(arguments: values)
    func fieldValue(_ value: Escaped) async throws {
        try await isRefusedOrHarmless { $0.headers[.accept] = value.text }
    }

    @Test(arguments: values)
    func contentType(_ value: Escaped) async throws {
        try await isRefusedOrHarmless {
            $0.method = .post
            $0.body = .string("body", contentType: value.text)
        }
    }

    @Test(arguments: values)
    func userAgentOfTheSession(_ value: Escaped) async throws {
        var configuration = SessionConfiguration()
        configuration.userAgent = value.text
        try await isRefusedOrHarmless(configuration) { _ in }
    }

    /// The types of the ecosystem cannot express a method that is not a token.
    @Test(arguments: ["", "GE T", "GET\r\nInjected: 1", "GET\0", "GET /evil HTTP/1.1\r\n\r\n", "ÄNDERN"] as [Escaped])
    func methodThatIsNoToken(_ method: Escaped) { #expect(HTTPRequest.Method(method.text) == nil) }

    @Test(arguments: ["", "Na me", "Name:", "Name\r\nInjected", "Name\0", "Näme"] as [Escaped])
    func fieldNameThatIsNoToken(_ name: Escaped) { #expect(HTTPField.Name(name.text) == nil) }

    @Test func connectIsNoMethodForRequests() async throws {
        let server = try Misbehaviour { _, _ in }
        var request = server.request
        request.method = .connect
        await server.fails(with: .invalidRequest, sending: request)
        try await server.isHealthyAndLeavesNothing()
    }

    /// The fields `Content-Length` and `Transfer-Encoding` are determined by the body, even if a caller sets them.
    @Test(.trellis(.http { .text("\($0.body.count)") }))
    func framingFieldsAreTheFrameworks() async throws {
        let (session, server) = (try #require(Session.current), try #require(LoopbackServer.current))
        var request = Request("/", method: .post, body: .string("four"))
        request.headers[.contentLength] = "1"
        request.headers[.transferEncoding] = "chunked"
        let (data, _) = try await session.data(request)
        #expect(String(decoding: data, as: UTF8.self) == "4")
        #expect(server.requests.first?.values(of: "Content-Length") == ["4"])
        #expect(server.requests.first?.values(of: "Transfer-Encoding") == [])
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    private func isRefusedOrHarmless(
        _ configuration: SessionConfiguration = .init(), _ spoil: (inout Request) -> Void
    ) async throws {
        let server = try LoopbackServer.http { _ in .text("ok") }
        let session = Session(configuration: configuration)
        var request = Request(server.url("/first"))
        spoil(&request)
        do {
            _ = try await session.data(request)
        } catch let error as TrellisError {
            #expect(error.kind == .invalidRequest)
        }
        for request in server.requests {
            #expect(request.path == "/first")
            #expect(request["Injected"] == nil)
            #expect(!request.headBytes.contains(0))
        }
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }
}
