import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The forms of a streamed response, over a session: elements are delivered as their bytes arrive, and a reader that leaves,
/// fails or is cancelled ends the transfer.
@Suite(.timeLimit(.minutes(3)))
struct StreamFormTests {
    /// A form, the bytes of one element, and the bytes of an invalid element.
    enum Form: CaseIterable, Sendable {
        case strings, lines, lineBytes, jsonLines, jsonSequence, events, parts

        var element: String {
            switch self {
            case .strings, .lines, .lineBytes: "element\n"
            case .jsonLines: "\"element\"\n"
            case .jsonSequence: "\u{1E}\"element\"\n"
            case .events: "data: element\n\n"
            case .parts: "--b\n\nelement\n--b\n"
            }
        }

        /// The limit on the bytes of a line or an event. ``DefaultLimitTests`` has the limits that hold without this one.
        static let limit = 10_000

        var mistake: String? {
            switch self {
            case .strings: nil
            case .lines, .lineBytes, .events: String(repeating: "x", count: Self.limit + 1)
            case .jsonLines: "{\n"
            case .jsonSequence: "\u{1E}{\u{1E}"
            case .parts: "no field\n\n"
            }
        }
    }

    let scripted = Scripted.narrow

    private func open() async throws -> (StreamResponse, ScriptedAttempt) {
        let opening = Task { [session = scripted.session] in try await session.stream("http://localhost/") }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead(headers: [.contentType: "multipart/mixed; boundary=b"])
        return (try await opening.value, attempt)
    }

    /// Passes each element to `take` as text, until `take` returns `false`.
    private static func read(
        _ stream: StreamResponse, as form: Form, _ take: (String) async throws -> Bool
    ) async throws {
        switch form {
        case .strings: for try await text in stream.strings where try await !take(text) { return }
        case .lines:
            for try await line in stream.lines(maximumLength: Form.limit) where try await !take(line) { return }
        case .lineBytes:
            for try await line in stream.chunks.lineBytes(maximumLength: Form.limit)
            where try await !take(String(decoding: line, as: UTF8.self)) { return }
        case .jsonLines:
            for try await value in stream.jsonLines(of: String.self) where try await !take(value) { return }
        case .jsonSequence:
            for try await value in stream.jsonSequence(of: String.self) where try await !take(value) { return }
        case .events:
            for try await event in stream.chunks.serverSentEvents(maximumSize: Form.limit)
            where try await !take(event.data) { return }
        case .parts:
            for try await part in stream.parts {
                let body = try await part.body.collect(upTo: 1000)
                if try await !take(String(decoding: body, as: UTF8.self)) { return }
            }
        }
    }

    @Test(arguments: Form.allCases)
    func leavingTheLoopEndsTheTransfer(_ form: Form) async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody(form.element)
        try await Self.read(stream, as: form) { element in
            #expect(element == (form == .strings ? "element\n" : "element"))
            return false
        }
        try await attempt.wait(for: .cancel)
        #expect(attempt.count(of: .cancel) == 1)
        withExtendedLifetime(stream) {}
    }

    @Test(arguments: Form.allCases)
    func cancellingTheReadersTaskEndsTheTransfer(_ form: Form) async throws {
        let (stream, attempt) = try await open()
        let reading = outcome {
            try await Self.read(stream, as: form) { _ in true }
            return "the end"
        }
        await scripted.session.settle()
        reading.cancel()
        #expect(await reading.value == .taskCancelled)
        try await attempt.wait(for: .cancel)
    }

    @Test(arguments: Form.allCases.filter { $0.mistake != nil })
    func aMistakeEndsTheTransferAfterWhatCameBefore(_ form: Form) async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody(form.element + (form.mistake ?? ""))
        let seen = LoopbackServer.Gate()
        let reading = outcome {
            try await Self.read(stream, as: form) { _ in
                seen.open()
                return true
            }
            return "the end"
        }
        let end = await reading.value
        #expect(end.isFailure, "\(end)")
        #expect(seen.isOpen)
        try await attempt.wait(for: .cancel)
        withExtendedLifetime(stream) {}
    }

    @Test(arguments: Form.allCases)
    func aTransferThatFailsFailsItsReader(_ form: Form) async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody(form.element)
        attempt.fail(.invalidResponse(.bodyCutShort("x")))
        let reading = outcome {
            try await Self.read(stream, as: form) { _ in true }
            return "the end"
        }
        #expect(await reading.value == .failed(.invalidResponse(.bodyCutShort("x"))))
    }

    @Test func aReaderThatHasFailedHasEnded() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody("1\nx\n3\n")
        var reader = stream.jsonLines(of: Int.self).makeAsyncIterator()
        #expect(try await reader.next() == 1)
        await #expect(throws: TrellisError.self) { try await reader.next() }
        #expect(try await reader.next() == nil)
    }

    /// Elements that have arrived are read without leaving the reader's actor: another task of the actor runs only after a reader
    /// that does not suspend.
    @MainActor
    @Test(arguments: Form.allCases)
    func elementsThatHaveComeAreReadWithoutLeavingTheReadersActor(_ form: Form) async throws {
        let (stream, attempt) = try await open()
        let elements = form == .parts ? "--b\n\n--b\n\n--b--" : String(repeating: form.element, count: 100)
        attempt.receiveBody(elements)
        attempt.end()
        await scripted.session.settle()
        let reader = Reader()
        try await Self.read(stream, as: form) { _ in
            if !reader.hasBegun { Task { reader.hasBeenInterrupted = true } }
            reader.hasBegun = true
            return true
        }
        #expect(reader.hasBegun)
        #expect(!reader.hasBeenInterrupted)
    }

    @MainActor
    private final class Reader {
        var hasBegun = false
        var hasBeenInterrupted = false
    }

    @Test func linesThatHaveComeStopWithTheTask() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody(String(repeating: "x\n", count: 1000))
        attempt.end()
        let hasBegun = LoopbackServer.Gate()
        let reading = Task {
            var count = 0
            do {
                for try await _ in stream.lines {
                    count += 1
                    hasBegun.open()
                    if count == 1 { while !Task.isCancelled { await Task.yield() } }
                }
            } catch is CancellationError {
                return count
            }
            return -1
        }
        try await hasBegun.opened()
        reading.cancel()
        #expect(try await (1...10).contains(reading.value))
    }

    @Test func linesCanBeDecodedByAClosure() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody("1\n \nx\n3\n")
        attempt.end()
        struct NoNumber: Error {}
        let numbers = stream.chunks.jsonLines { _ in
        } decoding: { line in
            guard let number = Int(String(decoding: line, as: UTF8.self)) else { throw NoNumber() }
            return number
        }
        var seen: [Int] = []
        for try await number in numbers { seen.append(number) }
        #expect(seen == [1, 3])
    }

    // MARK: Parts

    @Test func partsThatAreNotReadAreLeftOut() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody("--b\nA: 1\n\none\n--b\nA: 2\n\ntwo\n--b\nA: 3\n\nthree\n--b--")
        attempt.end()
        var parts: [String] = []
        for try await part in stream.parts {
            let number = part.headers.first?.value ?? ""
            parts.append(number == "2" ? "" : String(decoding: try await part.body.collect(upTo: 10), as: UTF8.self))
        }
        #expect(parts == ["one", "", "three"])
    }

    @Test func aPartThatWasLeftCannotBeRead() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody("--b\n\none\n--b\n\ntwo\n--b--")
        attempt.end()
        var reader = stream.parts.makeAsyncIterator()
        let first = try #require(try await reader.next())
        let second = try #require(try await reader.next())
        await #expect(throws: TrellisError.self) { try await first.body.collect(upTo: 10) }
        #expect(try await second.body.collect(upTo: 10) == Data("two".utf8))
        #expect(try await second.body.collect(upTo: 10) == Data())
        #expect(try await reader.next() == nil)
    }

    @Test func aPartAboveTheLimitIsAnError() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody("--b\n\none\n--b\n\ntwo\n--b--")
        attempt.end()
        var reader = stream.parts.makeAsyncIterator()
        let first = try #require(try await reader.next())
        let error = await #expect(throws: TrellisError.self) { try await first.body.collect(upTo: 2) }
        #expect(error?.kind == .bodyTooLarge)
    }

    @Test func aBodyThatIsNotMultipartIsAnErrorOnce() async throws {
        let (stream, _) = try await open()
        var reader = stream.chunks.parts(contentType: "text/plain").makeAsyncIterator()
        let error = await #expect(throws: TrellisError.self) { try await reader.next() }
        #expect(error?.kind == .unacceptableContentType)
        #expect(try await reader.next() == nil)
    }

    @Test func aStreamThatIsNotReadDoesNotEndTheTransfer() async throws {
        let (stream, attempt) = try await open()
        _ = stream.chunks
        await scripted.session.settle()
        attempt.receiveBody("element")
        attempt.end()
        var text = ""
        for try await chunk in stream.chunks { text += String(decoding: chunk, as: UTF8.self) }
        #expect(text == "element")
    }
}

extension Outcome {
    /// Whether the outcome is an error of the framework.
    var isFailure: Bool { if case .failed = self { true } else { false } }
}
