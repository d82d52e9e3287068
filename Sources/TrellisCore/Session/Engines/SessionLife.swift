import CurlEngine
import Synchronization

/// The life of a session, which all of its engines share.
package final class SessionLife: Sendable {
    private let shutDown = Atomic(false)
    private let drained = Atomic(false)
    private let ended = Atomic(false)
    private let listeners = Locked(DrainListeners())

    private struct DrainListeners: Sendable {
        var bodies: [UInt64: @Sendable () -> Void] = [:]
        var lastNumber: UInt64 = 0
        var isDraining = false
    }

    /// Whether the session accepts no new requests.
    package var isShutDown: Bool { shutDown.load(ordering: .acquiring) }

    /// Whether the drain is over, so that requests of calls that were in flight are refused too.
    var hasDrained: Bool { drained.load(ordering: .acquiring) }

    /// Refuses new requests from now on.
    func beginDrain() { shutDown.store(true, ordering: .releasing) }

    /// Refuses all further requests from now on.
    func endDrain() {
        shutDown.store(true, ordering: .releasing)
        drained.store(true, ordering: .releasing)
    }

    /// Whether the shutdown is complete.
    var hasEnded: Bool { ended.load(ordering: .acquiring) }

    /// Records that the shutdown is complete.
    func end() { ended.store(true, ordering: .releasing) }

    // MARK: Listeners

    /// Lets `body` be called when the session begins to drain; calls it at once if it drains already. Returns the number of the listener
    /// for ``forget(_:)``.
    package func whenDraining(_ body: @escaping @Sendable () -> Void) -> UInt64 {
        let (number, isDraining) = listeners.withLock { listeners in
            listeners.lastNumber += 1
            if !listeners.isDraining { listeners.bodies[listeners.lastNumber] = body }
            return (listeners.lastNumber, listeners.isDraining)
        }
        if isDraining { body() }
        return number
    }

    /// Removes a listener.
    package func forget(_ number: UInt64) { listeners.withLock { $0.bodies[number] = nil } }

    /// Tells the listeners that the session drains, so that what has no end of its own can end.
    func announceDrain() {
        let bodies = listeners.withLock { listeners in
            listeners.isDraining = true
            defer { listeners.bodies = [:] }
            return listeners.bodies.values
        }
        for body in bodies { body() }
    }
}
