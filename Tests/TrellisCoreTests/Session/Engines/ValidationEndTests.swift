import CurlEngine
import Dispatch
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The validations in the background that have not begun when their session is shut down, because its engine is busy.
@Suite(.timeLimit(.minutes(3)))
struct ValidationEndTests {
    private let session: Session

    init() {
        var configuration = SessionConfiguration()
        configuration.engines = .one
        session = Session(configuration: configuration, transport: MockTransport { _ in .text("hello") })
    }

    /// Creates a validation while the engine is busy. Returns the semaphore that ends the work of the engine.
    private func create(_ work: @escaping @Sendable () async -> Void) async throws -> DispatchSemaphore {
        let isHeld = LoopbackServer.Gate(), mayRun = DispatchSemaphore(value: 0)
        session.engine.submit {
            isHeld.open()
            mayRun.waitForTest()
        }
        try await isHeld.opened()
        session.validations.begin(in: session.actor, work, revoke: {})
        return mayRun
    }

    @Test func aValidationThatHasNotBegunIsFoundAndCancelled() async throws {
        let wasCancelled = Locked<Bool?>(nil), hasRun = LoopbackServer.Gate()
        let mayRun = try await create {
            wasCancelled.withLock { $0 = Task.isCancelled }
            hasRun.open()
        }
        #expect(session.validations.count == 1)
        await session.validations.end(within: .zero, on: session.clock)
        mayRun.signal()
        try await hasRun.opened()
        #expect(wasCancelled.withLock { $0 } == true)
        while session.validations.count > 0, !Task.isCancelled { await Task.yield() }
        await session.shutdown()
        #expect(session.validations.count == 0)
    }
}
