import CurlEngine
private import Synchronization

/// The requests of a cache that are under way, and for whose responses equal requests wait.
final class CacheFlights: Sendable {
    /// The name of equal requests.
    struct Key: Hashable, Sendable {
        let key: CacheKey
        /// The selection of a known variant by the request; `nil` if none is known.
        let variant: String?
    }

    /// The end of a request, for those that wait for its response.
    enum Outcome: Hashable, Sendable {
        /// The response is stored.
        case stored
        /// The response is not stored, or there is none.
        case notStored
        /// The request was cancelled: another one takes its place.
        case left
    }

    /// The part of a request in a flight.
    enum Role: Sendable {
        /// The request is sent, and others wait for its response.
        case leader(CacheLeader)
        /// The request waits.
        case waiter(CacheFlight)
    }

    private let flights = Locked<[Key: CacheFlight]>([:])

    /// The number of requests that others may wait for.
    var count: Int { flights.withLock { $0.count } }

    /// The number of requests that wait.
    var waitingCount: Int { flights.withLock { $0.values.reduce(0) { $0 + $1.waitingCount } } }

    /// Returns the part of a request: the first of equal requests leads.
    func join(_ key: Key) -> Role {
        let new = CacheFlight(key)
        let flight = flights.withLock { Self.value(&$0[key, default: new]) }
        return flight === new ? .leader(CacheLeader(self, flight)) : .waiter(flight)
    }

    fileprivate func end(_ flight: CacheFlight, _ outcome: Outcome) {
        flights.withLock { flights in
            guard let ended = flights.removeValue(forKey: flight.key), ended !== flight else { return }
            // The flight had ended before, and another one of the same name has begun.
            flights[flight.key] = ended
        }
        flight.settle(outcome)
    }

    /// Returns a value that is looked up, and added if it is missing, with a single search.
    private static func value(_ flight: inout CacheFlight) -> CacheFlight { flight }
}

/// The leader of a flight. The flight ends with its leader.
final class CacheLeader: Sendable {
    private let flights: CacheFlights
    private let flight: CacheFlight
    private let isSettled = Atomic(false)

    fileprivate init(_ flights: CacheFlights, _ flight: CacheFlight) { (self.flights, self.flight) = (flights, flight) }

    deinit { settle(.left) }

    /// Ends the flight, unless it has ended: the requests that wait continue.
    func settle(_ outcome: CacheFlights.Outcome) {
        if isSettled.exchange(true, ordering: .relaxed) { return }
        flights.end(flight, outcome)
    }
}

/// A request under way, with the requests that wait for its response.
final class CacheFlight: Sendable {
    private typealias Waiter = CheckedContinuation<CacheFlights.Outcome?, Never>

    private struct State {
        var outcome: CacheFlights.Outcome?
        var waiters: [UInt64: Waiter] = [:]
        /// The waits that were cancelled before they began.
        var cancelled: Set<UInt64> = []
        var lastNumber: UInt64 = 0
    }

    fileprivate let key: CacheFlights.Key
    private let state = Locked(State())

    fileprivate init(_ key: CacheFlights.Key) { self.key = key }

    fileprivate var waitingCount: Int { state.withLock { $0.waiters.count } }

    fileprivate func settle(_ outcome: CacheFlights.Outcome) {
        let waiters = state.withLock { state in
            if state.outcome == nil { state.outcome = outcome }
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume(returning: outcome) }
    }

    /// Waits for the end of the request. Returns `nil` in a cancelled task.
    func wait() async -> CacheFlights.Outcome? {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return await withTaskCancellationHandler {
            await withContinuation { (waiter: Waiter) in
                let (mustWait, outcome) = state.withLock { state -> (Bool, CacheFlights.Outcome?) in
                    if let outcome = state.outcome { return (false, outcome) }
                    if state.cancelled.remove(number) != nil { return (false, nil) }
                    state.waiters[number] = waiter
                    return (true, nil)
                }
                if !mustWait { waiter.resume(returning: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: number)
                if waiter == nil, state.outcome == nil { state.cancelled.insert(number) }
                return waiter
            }
            waiter?.resume(returning: nil)
        }
    }
}
