import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The error of an element of a stream has the request, the response and the measurements of its call, as other errors of the call do.
@Suite(.timeLimit(.minutes(3)))
struct StreamErrorTests {
    /// A form in which a body is read, with a body that cannot be read in it.
    enum Form: CaseIterable, Sendable {
        case lines, lastLine, jsonLines, lastJSONLine, jsonSequence, events, parts, noParts, whole, wholePart

        var body: String {
            switch self {
            case .lines, .whole: "long\n"
            case .lastLine: "long"
            case .jsonLines: "{\n"
            case .lastJSONLine: "{"
            case .jsonSequence: "\u{1E}{\u{1E}"
            case .events: "data: long\n\n"
            case .parts, .noParts: "--b\n\nelement"
            case .wholePart: "--b\n\nelement\n--b\n"
            }
        }

        var kind: TrellisError.Kind {
            switch self {
            case .lines, .lastLine, .events, .whole, .wholePart: .bodyTooLarge
            case .jsonLines, .lastJSONLine, .jsonSequence: .serialization
            case .parts: .truncatedBody
            case .noParts: .unacceptableContentType
            }
        }
    }

    private static let url = "http://ann:hush@localhost/a?token=hush"

    let scripted = Scripted.narrow

    private static func read(_ stream: StreamResponse, as form: Form) async throws {
        let chunks = stream.chunks
        switch form {
        case .lines, .lastLine: for try await _ in chunks.lines(maximumLength: 2) {}
        case .jsonLines, .lastJSONLine: for try await _ in chunks.jsonLines(of: Int.self) {}
        case .jsonSequence: for try await _ in chunks.jsonSequence(of: Int.self) {}
        case .events: for try await _ in chunks.serverSentEvents(maximumSize: 2) {}
        case .parts: for try await part in stream.parts { _ = try await part.body.collect(upTo: 100) }
        case .noParts: for try await _ in chunks.parts(contentType: "text/plain") {}
        case .whole: _ = try await chunks.collect(upTo: 2)
        case .wholePart: for try await part in stream.parts { _ = try await part.body.collect(upTo: 2) }
        }
    }

    /// Returns the error of a stream whose body comes `delay` after its head.
    private func failure(
        _ form: Form, after delay: Duration, _ open: @escaping @Sendable () async throws -> StreamResponse
    ) async throws -> TrellisError {
        let opening = Task { try await open() }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead(headers: [.contentType: "multipart/mixed; boundary=b"])
        let stream = try await opening.value
        await scripted.advance(by: delay)
        attempt.receiveBody(form.body)
        attempt.end()
        let error = await #expect(throws: TrellisError.self) { try await Self.read(stream, as: form) }
        let failure = try #require(error)
        #expect(failure.callID == stream.response.callID)
        return failure
    }

    @Test(arguments: Form.allCases)
    func theErrorNamesItsRequest(_ form: Form) async throws {
        let error = try await failure(form, after: .milliseconds(1500)) { [session = scripted.session] in
            try await session.stream(Self.url)
        }
        #expect(error.kind == form.kind && error.phase == .receiving)
        #expect(error.method == .get && error.url == "http://localhost/a?token=REDACTED")
        #expect(error.response?.status == .ok && error.bodyExcerpt == nil)
        #expect(error.attemptCount == 1 && error.elapsed == .milliseconds(1500))
        #expect("\(error)".hasPrefix("GET http://localhost/a?token=REDACTED: "), "\(error)")
    }

    /// The time of a handle's call begins when the handle is started.
    @Test func theTimeOfAHandleIsThatOfItsCall() async throws {
        let request = scripted.session.streamRequest(Self.url)
        await scripted.advance(by: .seconds(1))
        let error = try await failure(.lines, after: .seconds(2)) { try await request.response }
        #expect(error.elapsed == .seconds(2) && error.attemptCount == 1)
    }

    /// The error of a handler reaches the reader as it is.
    @Test func anErrorOfTheUserIsNotChanged() async throws {
        struct Own: Error {}
        let opening = Task { [session = scripted.session] in try await session.stream(Self.url) }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead()
        let stream = try await opening.value
        attempt.receiveBody("{\n")
        await #expect(throws: Own.self) {
            for try await _ in stream.chunks.jsonLines(of: Int.self, whenUndecodable: { _ in throw Own() }) {}
        }
    }
}
