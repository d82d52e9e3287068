import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// A body is read once: a further reader gets an error that says so, whether the first one has reached the end or has left before it.
@Suite(.timeLimit(.minutes(3)))
struct SecondReaderTests {
    enum Form: CaseIterable, Sendable {
        case chunks, bytes, strings, lines, jsonLines, events, parts

        /// A body with several elements.
        var content: String {
            switch self {
            case .events: "data: 1\n\ndata: 2\n\n"
            case .parts: "--b\n\n1\n--b\n\n2\n--b--"
            default: "1\n2\n"
            }
        }
    }

    private let scripted = Scripted.narrow

    private func open(status: Int = 200) async throws -> (StreamResponse, ScriptedAttempt) {
        let opening = Task { [session = scripted.session] in try await session.stream("http://localhost/") }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead(status: status, headers: [.contentType: "multipart/mixed; boundary=b"])
        return (try await opening.value, attempt)
    }

    /// Reads the first element of a body, or all of them.
    private static func read(_ stream: StreamResponse, as form: Form, isWhole: Bool = true) async throws {
        switch form {
        case .chunks: for try await _ in stream.chunks where !isWhole { return }
        case .bytes: for try await _ in stream.bytes where !isWhole { return }
        case .strings: for try await _ in stream.strings where !isWhole { return }
        case .lines: for try await _ in stream.lines where !isWhole { return }
        case .jsonLines: for try await _ in stream.jsonLines(of: Int.self) where !isWhole { return }
        case .events: for try await _ in stream.serverSentEvents where !isWhole { return }
        case .parts: for try await _ in stream.parts where !isWhole { return }
        }
    }

    private func expectRefusal(
        of form: Form, _ stream: StreamResponse, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: TrellisError.self, "\(form)", sourceLocation: sourceLocation) {
            try await Self.read(stream, as: form)
        }
        #expect(error?.kind == .other, "\(form)", sourceLocation: sourceLocation)
        let words = error?.description ?? ""
        #expect(words.contains("already read"), "\(form)", sourceLocation: sourceLocation)
        #expect(words.contains("http://localhost/"), "\(form)", sourceLocation: sourceLocation)
    }

    @Test(arguments: Form.allCases, [true, false])
    func aFurtherReaderGetsAnError(_ form: Form, _ isWhole: Bool) async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody(form.content)
        if isWhole { attempt.end() }
        try await Self.read(stream, as: form, isWhole: isWhole)
        if !isWhole { try await attempt.wait(for: .cancel) }
        for further in Form.allCases { await expectRefusal(of: further, stream) }
    }

    /// A reader that has left does not leave the bytes to others that have been received and that it has not read.
    @Test func theRestOfABodyThatHasArrivedIsNotRead() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody(Data(count: 2 * BodyInbox.eagerWake))
        attempt.end()
        await scripted.session.settle()
        try await Self.read(stream, as: .chunks, isWhole: false)
        await expectRefusal(of: .chunks, stream)
    }

    @Test func aReaderAfterACancelledOneGetsAnError() async throws {
        let (stream, attempt) = try await open()
        let reading = outcome {
            try await Self.read(stream, as: .lines)
            return "the end"
        }
        await scripted.session.settle()
        reading.cancel()
        #expect(await reading.value == .taskCancelled)
        try await attempt.wait(for: .cancel)
        await expectRefusal(of: .chunks, stream)
    }

    @Test func theBodyOfARefusedResponseIsNotRead() async throws {
        let (stream, attempt) = try await open(status: 404)
        attempt.receiveBody("no")
        attempt.end()
        await #expect(throws: TrellisError.self) { try await stream.validate() }
        await expectRefusal(of: .lines, stream)
    }

    @Test(arguments: Form.allCases) func theBodyIsNotReadAfterTheFinalResponse(_ form: Form) async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody(form.content)
        attempt.end()
        #expect(try await stream.finalResponse().status == .ok)
        await expectRefusal(of: form, stream)
    }

    @Test func aReaderAtTheEndStaysThere() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody("hello")
        attempt.end()
        var reader = stream.chunks.makeAsyncIterator()
        while try await reader.next() != nil {}
        #expect(try await reader.next() == nil)
        #expect(try await stream.finalResponse().status == .ok)
    }

    @Test func theFinalResponseOfABodyThatWasLeftIsAnError() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody("1\n2\n")
        try await Self.read(stream, as: .lines, isWhole: false)
        try await attempt.wait(for: .cancel)
        let error = await #expect(throws: TrellisError.self) { try await stream.finalResponse() }
        #expect(error?.kind == .other)
    }
}
