import FoundationEssentials
import TestSupport
import Testing
import TrellisTestTraits
import TrellisTesting

@testable import TrellisCore

/// A stream is validated by its head, before a byte of its body is delivered.
@Suite(.timeLimit(.minutes(3)))
struct StreamValidationTests {
    private struct Refused: Error {}

    private static var request: Request {
        var request = Request("http://a.example/log")
        request.headers[.accept] = "text/*"
        return request
    }

    /// Validates as `validate()` does, which waits for the beginning of the body for a second of the system's time.
    private static func validatePatiently(_ stream: StreamResponse) async throws {
        try await stream.validate([.successfulStatus, .acceptedContentType], patience: .seconds(100))
    }

    @Test(.trellis(.mock { _ in .text("one\ntwo\n") }))
    func whatIsAcceptedIsReadOn() async throws {
        let session = try #require(Session.current)
        var lines: [String] = []
        for try await line in try await session.stream(Self.request).validate().lines { lines.append(line) }
        #expect(lines == ["one", "two"])
    }

    @Test func theHeadIsValidatedBeforeTheBodyComes() async throws {
        let scripted = Scripted()
        async let stream = scripted.session.stream(Self.request).validate().validate { request, response, body in
            #expect(request.headers[.accept] == "text/*")
            #expect(response.status == .ok)
            #expect(body == nil)
        }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead(status: 200, headers: [.contentType: "text/plain"])
        // The body has delivered no byte yet.
        let body = try await stream.chunks
        attempt.receiveBody("hello")
        attempt.end()
        #expect(try await body.collect(upTo: 10) == Data("hello".utf8))
    }

    @Test(arguments: [
        (404, "text/plain", TrellisError.Kind.unacceptableStatus),
        (200, "application/json", .unacceptableContentType),
    ])
    func whatIsNotEndsWithTheBeginningOfItsBody(_ status: Int, _ type: String, _ kind: TrellisError.Kind) async throws {
        let body = String(repeating: "no ", count: 100_000)
        let transport = MockTransport { _ in
            MockResponse(status: status, headers: [.contentType: type]) { writer in
                // The body never ends: the error does not wait for the end.
                while true { try await writer.write(body) }
            }
        }
        let stream = try await Session(transport: transport).stream(Self.request)
        let error = await #expect(throws: TrellisError.self) { try await Self.validatePatiently(stream) }
        #expect(error?.kind == kind)
        #expect(error?.phase == .receiving)
        #expect(error?.response?.status.code == status)
        #expect(error?.bodyExcerpt?.data == Data(body.utf8.prefix(4096)))
        #expect(error?.bodyExcerpt?.isCut == true)
        try await transport.waitUntilCancelled(count: 1)
    }

    @Test(.trellis(.mock { _ in .text("not here", status: 410) }))
    func aShortBodyIsInTheErrorWhole() async throws {
        let session = try #require(Session.current)
        let stream = try await session.stream(Self.request)
        let error = await #expect(throws: TrellisError.self) { try await Self.validatePatiently(stream) }
        #expect(error?.bodyExcerpt?.text == "not here")
        #expect(error?.bodyExcerpt?.isCut == false)
        #expect(error?.description.hasSuffix("the status 410 (Gone) is not accepted; the body: not here") == true)
    }

    @Test(
        .trellis(
            .mock { _ in
                MockResponse(status: 500) { writer in
                    try await writer.write("half")
                    try await Task.never()
                }
            }))
    func aBodyThatDoesNotComeIsNotWaitedForForLong() async throws {
        let (session, transport) = (try #require(Session.current), try #require(MockTransport.current))
        let stream = try await session.stream(Self.request)
        let error = await #expect(throws: TrellisError.self) {
            try await stream.validate([.successfulStatus], patience: .milliseconds(100))
        }
        #expect(error?.kind == .unacceptableStatus)
        #expect(error?.bodyExcerpt?.isCut == true)
        try await transport.waitUntilCancelled(count: 1)
    }

    @Test(.trellis(.mock { _ in MockResponse { _ in try await Task.never() } }))
    func aChecksOwnErrorEndsTheTransferToo() async throws {
        let (session, transport) = (try #require(Session.current), try #require(MockTransport.current))
        let stream = try await session.stream("http://a.example/")
        await #expect(throws: Refused.self) { try await stream.validate { _, _, _ in throw Refused() } }
        try await transport.waitUntilCancelled(count: 1)
    }

    @Test(.trellis(.mock { _ in .text("x", status: 404) }))
    func theShapesOfACondition() async throws {
        let session = try #require(Session.current)
        let stream = try await session.stream(Self.request)
        try await stream.validate(statusCode: [404]).validate(statusCode: 400..<500).validate(contentType: [
            "text/plain"
        ])
        await #expect(throws: TrellisError.self) { try await stream.validate(contentType: ["image/*"]) }
    }
}
