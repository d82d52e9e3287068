import CurlEngine
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// Downloads whose machine loses its network.
@Suite(.timeLimit(.minutes(3)))
struct OfflineDownloadTests {
    private let network = TestNetwork()
    private let world: ScriptedDownload
    private var transport: ScriptedTransport { world.transport }

    init() throws {
        let reachability = network.reachability
        world = try ScriptedDownload { $0.reachability = reachability }
    }

    /// Starts a download that gets five bytes, then loses its network, and fails to connect.
    private func interrupted(
        _ change: (inout DownloadOptions) -> Void = { _ in }
    ) async throws -> DownloadRequest {
        let (download, attempt) = try await world.start([], change)
        world.sendHead(attempt)
        try await world.receive(0..<5, attempt, download)
        network.set(.notReachable)
        attempt.fail(.exchangeFailed(.receive("reset")))
        return download
    }

    /// Advances the clock until the attempt after the first `count` starts, and returns it.
    private func nextAttempt(after count: Int) async throws -> ScriptedAttempt {
        try await world.advanceByTimers { transport.attempts.count > count }
        return try await transport.nextAttempt()
    }

    private func failNextAttempt(after count: Int) async throws {
        try await nextAttempt(after: count).fail(.connectionFailed(.unreachable("no route")))
    }

    /// The next attempt does not wait for the end of its delay, which the clock never reaches.
    @Test func theWaitEndsWhenTheNetworkIsBack() async throws {
        let download = try await interrupted()
        try await failNextAttempt(after: 1)
        try await network.waitForObservers(count: 1)
        network.set(.reachable(.ethernetOrWiFi))
        let attempt = try await transport.nextAttempt()
        try world.sendPart(attempt)
        #expect(try await download.value.interruptions == 2)
        #expect(world.isComplete && network.observerCount == 0)
    }

    /// The attempts without a network are more than those that are allowed in a row.
    @Test func attemptsWithoutANetworkAreNotCounted() async throws {
        let download = try await interrupted { $0.maximumFailures = 1 }
        for count in 1...6 { try await failNextAttempt(after: count) }
        try world.sendPart(await nextAttempt(after: 7))
        #expect(try await download.value.interruptions == 7)
        #expect(world.isComplete)
    }

    @Test func theyAreCountedAfterTwoMinutes() async throws {
        let download = try await interrupted { $0.maximumFailures = 1 }
        while !download.state.isFinished {
            let count = transport.attempts.count
            try await world.advanceByTimers {
                transport.attempts.count > count || download.state.isFinished
            }
            if transport.attempts.count > count {
                transport.attempts[count].fail(.connectionFailed(.unreachable("no route")))
            }
        }
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.reason == .connectionFailed(.unreachable("no route")))
        // With the first one: between eight and sixteen delays make up two minutes, of which up to half is left out.
        #expect((9...20).contains(transport.attempts.count))
    }

    /// Limits of the caller's hold without a network too.
    @Test func aMaximumHolds() async throws {
        let download = try await interrupted { $0.maximumInterruptions = 2 }
        for count in 1...2 { try await failNextAttempt(after: count) }
        await #expect(throws: TrellisError.self) { try await download.value }
        #expect(transport.attempts.count == 3)
    }

    @Test func theDeadlineHolds() async throws {
        let (download, attempt) = try await world.start([], timeouts: Timeouts(total: .seconds(30)))
        world.sendHead(attempt)
        try await world.receive(0..<5, attempt, download)
        network.set(.notReachable)
        attempt.fail(.exchangeFailed(.receive("reset")))
        var count = 1
        while !download.state.isFinished {
            try await world.advanceByTimers {
                transport.attempts.count > count || download.state.isFinished
            }
            if transport.attempts.count > count {
                transport.attempts[count].fail(.connectionFailed(.unreachable("no route")))
                count += 1
            }
        }
        await #expect(throws: TrellisError.self) { try await download.value }
        #expect(network.observerCount == 0)
    }
}
