import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// A stream without a reader ends its transfer, in every form of reading.
@Suite(.timeLimit(.minutes(3)))
struct StreamCancellationTests {
    enum Form: CaseIterable, Sendable {
        case chunks, bytes, lines
    }

    let scripted = Scripted.narrow

    private func open() async throws -> (StreamResponse, ScriptedAttempt) {
        let opening = Task { [session = scripted.session] in try await session.stream("http://localhost/") }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead()
        return (try await opening.value, attempt)
    }

    /// Reads elements until `count` have been read.
    private static func read(_ count: Int, of stream: StreamResponse, as form: Form) async throws {
        var left = count
        func isEnough() -> Bool {
            left -= 1
            return left <= 0
        }
        switch form {
        case .chunks: for try await _ in stream.chunks where isEnough() { return }
        case .bytes: for try await _ in stream.bytes where isEnough() { return }
        case .lines: for try await _ in stream.lines where isEnough() { return }
        }
    }

    @Test(arguments: Form.allCases)
    func leavingTheLoopEndsTheTransfer(_ form: Form) async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody("one\ntwo\n")
        try await Self.read(1, of: stream, as: form)
        try await attempt.wait(for: .cancel)
        #expect(attempt.count(of: .cancel) == 1)
        try await CancellationTests.expectThatTheSlotIsFree(scripted)
        withExtendedLifetime(stream) {}
    }

    @Test(arguments: Form.allCases)
    func cancellingTheReadersTaskEndsTheTransfer(_ form: Form) async throws {
        let (stream, attempt) = try await open()
        let reading = outcome {
            try await Self.read(.max, of: stream, as: form)
            return "the end"
        }
        await scripted.session.settle()
        reading.cancel()
        #expect(await reading.value == .taskCancelled)
        try await attempt.wait(for: .cancel)
        #expect(attempt.count(of: .cancel) == 1)
        try await CancellationTests.expectThatTheSlotIsFree(scripted)
    }

    @Test func droppingTheResponseEndsTheTransfer() async throws {
        var attempt: ScriptedAttempt?
        do { attempt = try await open().1 }
        try await attempt?.wait(for: .cancel)
        try await CancellationTests.expectThatTheSlotIsFree(scripted)
    }

    @Test(arguments: Form.allCases)
    func droppingTheResponseWhileItIsReadEndsNothing(_ form: Form) async throws {
        let attempt: ScriptedAttempt
        let reading: Task<Outcome, Never>
        do {
            let opened = try await open()
            attempt = opened.1
            let stream = opened.0
            reading = outcome {
                try await Self.read(.max, of: stream, as: form)
                return "the end"
            }
        }
        attempt.receiveBody("one\n")
        await scripted.session.settle()
        #expect(attempt.count(of: .cancel) == 0)
        attempt.end()
        #expect(await reading.value == .answer("the end"))
    }

    @Test(arguments: Form.allCases)
    func cancellingTheResponseFailsItsReader(_ form: Form) async throws {
        let (stream, attempt) = try await open()
        let reading = outcome {
            try await Self.read(.max, of: stream, as: form)
            return "the end"
        }
        await scripted.session.settle()
        stream.cancel()
        stream.cancel()
        #expect(await reading.value == .failed(.cancelled(.explicitly)))
        #expect(attempt.count(of: .cancel) == 1)
    }

    @Test func aPausedTransferIsCancelledToo() async throws {
        var stream: StreamResponse?
        let attempt: ScriptedAttempt
        let opened = try await open()
        stream = opened.0
        attempt = opened.1
        attempt.receiveBody(Data(count: 4 << 20))
        try await attempt.wait(for: .pauseReceiving(true))
        stream?.cancel()
        try await attempt.wait(for: .cancel)
        #expect(attempt.count(of: .cancel) == 1)
        stream = nil
        try await CancellationTests.expectThatTheSlotIsFree(scripted)
    }

    @Test func aScopedResponseEndsWithItsScope() async throws {
        let scope = Task { [session = scripted.session] in
            try await session.withResponse(to: "http://localhost/") { head, _ in head.status.code }
        }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead(status: 201)
        #expect(try await scope.value == 201)
        try await attempt.wait(for: .cancel)
        #expect(attempt.count(of: .cancel) == 1)
        try await CancellationTests.expectThatTheSlotIsFree(scripted)
    }

    @Test func whatCameBeforeAFailureIsReadFirst() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody("part")
        attempt.fail(.invalidResponse(.bodyCutShort("x")))
        await scripted.session.settle()
        var reader = stream.chunks.makeAsyncIterator()
        #expect(try await reader.next() == Data("part".utf8))
        let error = await #expect(throws: TrellisError.self) { try await reader.next() }
        #expect(error?.kind == .truncatedBody)
    }
}
