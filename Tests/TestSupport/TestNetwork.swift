package import CurlEngine
package import TrellisCore

/// A network whose status a test sets.
package final class TestNetwork: NetworkStatusSource {
    private struct Observer {
        let body: @Sendable (NetworkReachability.Status) -> Void
        /// Whether the observer has been called with the present status.
        var isInformed = false
    }

    private struct State {
        var status: NetworkReachability.Status
        var observers: [Int: Observer] = [:]
        var uplinkObservers: [Int: @Sendable () -> Void] = [:]
        var lastNumber = 0
    }

    private let state: Locked<State>

    package init(_ status: NetworkReachability.Status = .reachable(.ethernetOrWiFi)) {
        state = Locked(State(status: status))
    }

    /// The reachability according to this network.
    package var reachability: NetworkReachability { NetworkReachability(source: self) }

    package var status: NetworkReachability.Status { get async { state.withLock { $0.status } } }

    /// The number of observers.
    package var observerCount: Int { state.withLock { $0.observers.count } }

    /// Sets the status, and reports it to all observers.
    package func set(_ status: NetworkReachability.Status) {
        let observers = state.withLock { state in
            state.status = status
            return state.observers.values.filter(\.isInformed)
        }
        for observer in observers { observer.body(status) }
    }

    /// Reports that the machine has joined another network.
    package func changeUplinks() {
        for observer in state.withLock({ Array($0.uplinkObservers.values) }) { observer() }
    }

    package func observeUplinks(_ body: @escaping @Sendable () -> Void) -> NetworkObservation {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.uplinkObservers[state.lastNumber] = body
            return state.lastNumber
        }
        return observation(number)
    }

    private func observation(_ number: Int) -> NetworkObservation {
        NetworkObservation { [state] in
            state.withLock { state in
                state.observers[number] = nil
                state.uplinkObservers[number] = nil
            }
        }
    }

    /// Waits until there is this number of observers.
    package func waitForObservers(count: Int) async throws {
        while observerCount != count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    package func observe(
        _ body: @escaping @Sendable (NetworkReachability.Status) -> Void
    ) -> NetworkObservation {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.observers[state.lastNumber] = Observer(body: body)
            return state.lastNumber
        }
        var last: NetworkReachability.Status?
        while let status = newStatus(for: number, after: last) {
            body(status)
            last = status
        }
        return observation(number)
    }

    /// Returns the status unless the observer knows it. From then on, the observer is called with each status that is set: its calls come
    /// one after the other.
    private func newStatus(
        for number: Int, after last: NetworkReachability.Status?
    ) -> NetworkReachability.Status? {
        state.withLock { state in
            guard state.status == last else { return state.status }
            state.observers[number]?.isInformed = true
            return nil
        }
    }
}
