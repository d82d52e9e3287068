import CurlEngine
import TestSupport
import Testing

@testable import TrellisCore

/// The reachability as a value, as a sequence and as a wait, on a network that the test changes.
@Suite(.timeLimit(.minutes(3)))
struct NetworkReachabilityTests {
    @Test(
        arguments: [
            (.unknown, false), (.notReachable, false), (.reachable(.ethernetOrWiFi), true),
            (.reachable(.cellular), true),
        ] as [(NetworkReachability.Status, Bool)])
    func aValue(_ status: NetworkReachability.Status, _ isReachable: Bool) async {
        let network = TestNetwork(status)
        #expect(await network.reachability.status == status && status.isReachable == isReachable)
    }

    @Test func aSystemThatDoesNotReportIsUnknown() { #expect(NetworkReachability.Status(nil) == .unknown) }

    // MARK: A sequence

    @Test func firstThePresentStatusThenEachChange() async throws {
        let network = TestNetwork(.notReachable)
        var statuses = network.reachability.statuses.makeAsyncIterator()
        #expect(await statuses.next() == .notReachable)
        for status in [NetworkReachability.Status.reachable(.cellular), .unknown, .notReachable] {
            network.set(status)
            #expect(await statuses.next() == status)
        }
    }

    /// A change of the network after which the status is the same is not reported.
    @Test func theSameStatusIsReportedOnce() async throws {
        let network = TestNetwork(.notReachable)
        var statuses = network.reachability.statuses.makeAsyncIterator()
        #expect(await statuses.next() == .notReachable)
        network.set(.notReachable)
        network.set(.reachable(.cellular))
        #expect(await statuses.next() == .reachable(.cellular))
    }

    @Test func aSlowReaderGetsTheNewestAlone() async throws {
        let network = TestNetwork(.notReachable)
        var statuses = network.reachability.statuses.makeAsyncIterator()
        for status in [NetworkReachability.Status.unknown, .reachable(.cellular), .reachable(.ethernetOrWiFi)] {
            network.set(status)
        }
        #expect(await statuses.next() == .reachable(.ethernetOrWiFi))
    }

    @Test func everyReaderGetsEverything() async throws {
        let network = TestNetwork(.notReachable)
        var first = network.reachability.statuses.makeAsyncIterator()
        #expect(await first.next() == .notReachable)
        network.set(.unknown)
        var second = network.reachability.statuses.makeAsyncIterator()
        #expect(await first.next() == .unknown)
        #expect(await second.next() == .unknown)
    }

    /// The observation ends with the sequence, and with the task that reads it.
    @Test func nothingIsObservedWithoutReaders() async throws {
        let network = TestNetwork(.notReachable)
        do {
            let statuses = network.reachability.statuses
            #expect(network.observerCount == 1)
            withExtendedLifetime(statuses) {}
        }
        try await network.waitForObservers(count: 0)
        let statuses = network.reachability.statuses
        let task = Task { for await _ in statuses {} }
        task.cancel()
        await task.value
        try await network.waitForObservers(count: 0)
    }

    // MARK: A wait

    @Test(arguments: [NetworkReachability.Status.reachable(.cellular), .unknown])
    func noWait(_ status: NetworkReachability.Status) async throws {
        let network = TestNetwork(status)
        try await network.reachability.waitUntilReachable()
        try await network.waitForObservers(count: 0)
    }

    @Test func theWaitEndsWhenTheNetworkIsBack() async throws {
        let network = TestNetwork(.notReachable)
        let task = Task { try await network.reachability.waitUntilReachable() }
        try await network.waitForObservers(count: 1)
        network.set(.notReachable)
        #expect(network.observerCount == 1)
        network.set(.reachable(.ethernetOrWiFi))
        try await task.value
        try await network.waitForObservers(count: 0)
    }

    @Test func aCancelledTaskDoesNotWait() async throws {
        let network = TestNetwork(.notReachable)
        let task = Task { try await network.reachability.waitUntilReachable() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await network.waitForObservers(count: 0)
    }
}
