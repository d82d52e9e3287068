import Testing

@testable import CurlEngine

/// The thread of a monitor exists while there are observers.
@Suite(.timeLimit(.minutes(3)))
struct NetworkMonitorTests {
    /// The test checks the complete process, and therefore has its own.
    @Test func theThreadEndsWithItsLastObserver() async {
        await #expect(processExitsWith: .success) {
            let monitor = NetworkMonitor()
            func untilThreads(count: Int) {
                while ProcessFacts.threads(named: "trellis-network").count != count { pause(milliseconds: 1) }
            }
            var descriptors: Int?
            for _ in 0..<20 {
                let called = AsyncStream<NetworkState?>.makeStream()
                let first = monitor.observe { called.continuation.yield($0) }
                let second = monitor.observe { called.continuation.yield($0) }
                var states = called.stream.makeAsyncIterator()
                // Every observer is called, and a state that nothing changes in between is the same for both.
                let (one, other) = (await states.next(), await states.next())
                expectInProcess(one != nil && other != nil, "not called")
                untilThreads(count: 1)
                first.end()
                // A thread of the runtime that this one has just started has its name for a moment.
                expectInProcess(!ProcessFacts.threads(named: "trellis-network").isEmpty, "ended early")
                second.end()
                untilThreads(count: 0)
                descriptors = descriptors ?? ProcessFacts.descriptors.count
            }
            // The runtime's threads may have opened some meanwhile. A monitor that left one would have left one in each round.
            let left = ProcessFacts.descriptors.count - (descriptors ?? 0)
            expectInProcess(left < 10, "\(left) descriptors are left")
        }
    }

    @Test func withoutASocketTheStateIsUnknown() async {
        let monitor = NetworkMonitor { _ in nil }
        #expect(await monitor.current == nil)
        let called = AsyncStream<Bool>.makeStream()
        let observation = monitor.observe { called.continuation.yield($0 == nil) }
        var calls = called.stream.makeAsyncIterator()
        #expect(await calls.next() == true)
        observation.end()
    }

    /// An observer that joins while the thread cannot be started learns that the state is unknown, and the next one tries again.
    @Test func withoutAThreadEveryObserverIsCalled() {
        let (calls, starts) = (Locked<[Int]>([]), Locked(0))
        let joined = Locked<[NetworkObservation]>([])
        let monitor = NetworkMonitor(startThread: { monitor in
            let number = starts.withLock { count in
                count += 1
                return count
            }
            if number == 1 {
                let observation = monitor.observe { state in calls.withLock { $0.append(state == nil ? 2 : -2) } }
                joined.withLock { $0.append(observation) }
            }
            return false
        })
        let first = monitor.observe { state in calls.withLock { $0.append(state == nil ? 1 : -1) } }
        #expect(calls.withLock { $0 } == [1, 2])
        let third = monitor.observe { state in calls.withLock { $0.append(state == nil ? 3 : -3) } }
        #expect(calls.withLock { $0 } == [1, 2, 3])
        #expect(starts.withLock { $0 } == 2)
        for observation in [first, third] { observation.end() }
        joined.withLock { $0 = [] }
    }

    /// The state of the machine can be read without any rights.
    @Test func theStateOfThisMachine() async throws {
        let socket = try #require(RouteSocket(.nothing))
        let addresses = try #require(socket.readAddresses()).carriedAddresses
        #expect(try #require(socket.readState()).carriedAddresses == addresses)
        let loopback = try #require(IPAddress("127.0.0.1"))
        #expect(addresses.contains(loopback))
    }
}
