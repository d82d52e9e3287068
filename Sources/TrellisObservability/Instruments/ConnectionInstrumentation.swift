#if Observability
import CoreMetrics
import CurlEngine
import Synchronization

/// The observer of a session's connections: counts the open ones of each server, and measures how long they last.
///
/// The engines only change numbers. A task passes the changes on to the metrics factory, which is not the framework's code. The task waits
/// for ten milliseconds first, so that a busy session does not start one for each request.
final class ConnectionInstrumentation: ConnectionObserver {
    /// The connections of one server.
    private struct Counts: Sendable {
        let server: ServerAddress
        /// The numbers of the connections in use and of the idle ones.
        var open = ConnectionCounts()
        /// The numbers that the factory knows.
        var published = ConnectionCounts()
        /// The durations of the connections that have ended since, in nanoseconds.
        var durations: [Int64] = []
    }

    private struct State: Sendable {
        /// The servers, whose number is bounded.
        var counts: [Counts] = []
        var indices: [ServerAddress: Int] = [:]
        /// Whether a task is about to pass changes on.
        var isPublishing = false
        /// The source of the factory that knows the published numbers; `nil` if there is none yet.
        var source: InstrumentSource?

        /// Returns whether a task has to be started that passes the changes on. A task that is about to do so passes these on too.
        mutating func beginPublishing() -> Bool {
            defer { isPublishing = true }
            return !isPublishing
        }

        /// Returns the place of a server.
        mutating func index(of server: ServerAddress) -> Int {
            if let index = indices[server] { return index }
            indices[server] = counts.count
            counts.append(Counts(server: server))
            return counts.count - 1
        }

        /// Returns the changes that bring the published numbers of all servers to the numbers of the open connections, or to zero.
        mutating func takeChanges(toZero: Bool = false) -> [ConnectionChanges] {
            counts.indices.compactMap { index in
                let (now, before) = (toZero ? ConnectionCounts() : counts[index].open, counts[index].published)
                let durations = toZero ? [] : counts[index].durations
                guard now != before || !durations.isEmpty else { return nil }
                counts[index].published = now
                if !toZero { counts[index].durations = [] }
                return ConnectionChanges(
                    server: counts[index].server, active: now.active - before.active, idle: now.idle - before.idle,
                    durations: durations)
            }
        }
    }

    private static let delay = Duration.milliseconds(10)

    private let instruments: InstrumentCache
    private let state = Locked(State())
    /// The number of switches between factories after which the open connections were passed on.
    private let followedSwitches = Atomic(0)

    init(_ instruments: InstrumentCache) { self.instruments = instruments }

    // The engine may have the last reference to the instrumentation, and with it to the factory.
    deinit { UserObjects.release([instruments, state]) }

    func begin(_ url: String) -> any ConnectionObservation {
        let server = instruments.bounded(ServerAddress(of: url))
        let index = state.withLock { $0.index(of: server) }
        change(index) { $0.active += 1 }
        return ObservedConnection(self, index)
    }

    /// Changes the numbers of a server, and passes them on soon.
    ///
    /// - Parameter duration: The duration of a connection that has ended, in nanoseconds; `nil` if none has.
    func change(_ index: Int, duration: Int64? = nil, _ body: (inout ConnectionCounts) -> Void) {
        let hasSource = instruments.hasLatestSource
        let begins = state.withLock { state in
            body(&state.counts[index].open)
            guard hasSource else { return false }
            if let duration { state.counts[index].durations.append(duration) }
            return state.beginPublishing()
        }
        if begins { publishSoon() }
    }

    /// Passes the open connections on to the factory of the last request, if the request before had another one. The numbers need not
    /// change for that: one turn of the engine may end a request and begin the next one on the same connection.
    func followFactory() {
        let count = instruments.switchCount
        guard followedSwitches.exchange(count, ordering: .relaxed) != count else { return }
        if state.withLock({ $0.beginPublishing() }) { publishSoon() }
    }

    private func publishSoon() {
        Task.detached { [self] in
            try? await Task.sleep(for: Self.delay)
            publish()
        }
    }

    private func publish() {
        let (earlier, source, retractions, changes) = state.withLock { state in
            // A request that has another factory after this source is read starts a separate task.
            state.isPublishing = false
            let (earlier, source) = (state.source, instruments.latestSource)
            var retractions: [ConnectionChanges] = []
            if let source {
                if earlier?.hasFactory(of: source) == false { retractions = state.takeChanges(toZero: true) }
                state.source = source
            }
            return (earlier, source, retractions, source == nil ? [] : state.takeChanges())
        }
        if let earlier { for change in retractions { change.record(in: earlier) } }
        if let source { for change in changes { change.record(in: source) } }
    }
}

/// The numbers of a server's connections.
struct ConnectionCounts: Sendable, Equatable {
    var active = 0
    var idle = 0
}

/// The changes of the metrics of one server's connections.
private struct ConnectionChanges: Sendable {
    let server: ServerAddress
    let active: Int
    let idle: Int
    /// The durations of connections that have ended, in nanoseconds.
    let durations: [Int64]

    func record(in source: InstrumentSource) {
        for (isIdle, change) in [(false, active), (true, idle)] where change != 0 {
            let meter = source.instruments(of: series(.connections(isIdle: isIdle))).openConnections
            if change > 0 { meter?.increment(by: Double(change)) } else { meter?.decrement(by: Double(-change)) }
        }
        guard !durations.isEmpty else { return }
        let timer = source.instruments(of: series(.connectionEnd)).connectionDuration
        for duration in durations { timer?.recordNanoseconds(duration) }
    }

    private func series(_ kind: Series.Kind) -> Series {
        Series(kind: kind, method: "", server: server, template: "")
    }
}
#endif
