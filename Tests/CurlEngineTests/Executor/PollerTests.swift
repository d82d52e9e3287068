import Testing

@testable import CurlEngine

/// The wait for sockets and for signals of other threads.
@Suite(.timeLimit(.minutes(1)))
struct PollerTests {
    /// Signals before a wait end it, each time, although nobody reads the counter of the descriptor.
    @Test func signalsEndEachWait() throws {
        let poller = try #require(Poller())
        for count in [1, 2, 1] {
            for _ in 0..<count { Poller.signal(poller.wakeUpDescriptor) }
            poller.wait(nanoseconds: nil) { _ in Issue.record("no socket is watched") }
        }
    }

    /// A signal hides no socket.
    @Test func aSocketIsReportedWithASignal() throws {
        let (poller, other) = (try #require(Poller()), try #require(Poller()))
        try #require(poller.watch(other.wakeUpDescriptor, generation: 7, for: .read))
        for _ in 0..<2 {
            Poller.signal(poller.wakeUpDescriptor)
            Poller.signal(other.wakeUpDescriptor)
            var ready: [ReadySocket] = []
            poller.wait(nanoseconds: nil) { ready.append($0) }
            #expect(ready.map(\.descriptor) == [other.wakeUpDescriptor] && ready.map(\.generation) == [7])
        }
    }
}
