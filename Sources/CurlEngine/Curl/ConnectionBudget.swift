/// The bound on the connections to one origin that carry streams, for all engines of a session together. It concerns only origins whose
/// connections are shared, as over HTTP/2 and HTTP/3: other requests wait for their connection before they reach an engine.
package final class ConnectionBudget: Sendable {
    /// The maximum number of connections to one origin that are in use.
    package let perOrigin: Int

    private struct Origin {
        var inUse = 0
        /// The closures of the engines that wait for a connection.
        var line = FIFO<@Sendable () -> Void>()
    }

    private let origins = Locked<[String: Origin]>([:])

    /// Creates a bound.
    package init(perOrigin: Int = 64) { self.perOrigin = max(perOrigin, 1) }

    /// Returns the number of connections to an origin that are in use.
    package func inUseCount(_ origin: String) -> Int { origins.withLock { $0[origin]?.inUse ?? 0 } }

    /// Counts a connection that is about to be opened. Returns `false` if the bound is reached; `whenFree` is then called once, from any
    /// thread, when a connection to the origin is no longer in use.
    func begin(_ origin: String, whenFree: (@Sendable () -> Void)?) -> Bool {
        origins.withLock { origins in
            guard origins[origin]?.inUse ?? 0 >= perOrigin else {
                origins[origin, default: Origin()].inUse += 1
                return true
            }
            if let whenFree { origins[origin]?.line.append(whenFree) }
            return false
        }
    }

    /// Counts a connection that exists already, whether the bound is reached or not.
    func add(_ origin: String) { origins.withLock { $0[origin, default: Origin()].inUse += 1 } }

    /// Records that a connection is no longer in use.
    func end(_ origin: String) {
        let next = origins.withLock { origins -> (@Sendable () -> Void)? in
            let next = origins[origin]?.line.popFirst()
            origins[origin]?.inUse -= 1
            if let state = origins[origin], state.inUse == 0, state.line.isEmpty { origins[origin] = nil }
            return next
        }
        next?()
    }
}

/// Two bounds are equal if they are the same object.
extension ConnectionBudget: Hashable {
    package static func == (left: ConnectionBudget, right: ConnectionBudget) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
