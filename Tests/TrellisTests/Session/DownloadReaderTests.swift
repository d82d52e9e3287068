import CurlEngine
import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

/// Those who wait for a download, each in a task of its own.
@Suite(.timeLimit(.minutes(1)))
struct DownloadReaderTests {
    private let clock = TestClock()
    private let transport: ScriptedTransport
    private let session: Session
    private let path = FileManager.default.temporaryDirectory.appending(path: "trellis-\(UUID().uuidString)").path

    init() {
        transport = ScriptedTransport(clock: clock)
        session = Session(transport: transport, clock: clock)
    }

    // MARK: Held up

    /// Keeps what it is told, after something else has happened.
    private final class Source: ChunkSource {
        private let meanwhile: @Sendable (Bool) -> Void
        private let calls = Locked<[Bool]>([])

        init(_ meanwhile: @escaping @Sendable (Bool) -> Void) { self.meanwhile = meanwhile }

        var log: [Bool] { calls.withLock { $0 } }

        func hold(_ isHeld: Bool) {
            meanwhile(isHeld)
            calls.withLock { $0.append(isHeld) }
        }

        func next() async throws -> Data? { nil }

        func finalResponse() async throws -> Response {
            Response(responseHead: ResponseHead(status: .ok), url: "http://a.example/f")
        }

        func cancel(explicitly: Bool) {}
    }

    /// Whoever lets it go on while it is being held up has the last word.
    @Test(arguments: [true, false]) func goingOnWhileItIsBeingHeldUp(_ isBefore: Bool) async throws {
        let run = DownloadRun(clock: session.clock) { _ in throw CancellationError() }
        let source = Source { isHeld in if isHeld { run.resume() } }
        if isBefore { run.suspend() }
        try await run.reading(source) { if !isBefore { run.suspend() } }
        #expect(run.phase == .resumed)
        #expect(source.log == [false, true, false])
    }
}
