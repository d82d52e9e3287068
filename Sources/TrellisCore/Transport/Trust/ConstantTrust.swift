import CurlEngine
import Synchronization

/// The rules of a ``TLSConfiguration`` without sources, which change with the system's file of authorities only.
final class ConstantTrust: Sendable {
    /// The rules before the first change of the system's file.
    private let first: TransferTrust
    /// The rules that were used last.
    private let latest: Locked<TransferTrust>
    private let system: SystemAuthorities
    /// Whether certificates are verified, so that the file matters.
    private let verifies: Bool
    /// The shortest time between two looks at the file.
    private let interval: Duration
    /// The time of the next look at the file in nanoseconds; of the system's clock, because a look is not part of a request.
    private let nextLook: Atomic<UInt64>

    /// Creates the rules.
    ///
    /// - Parameters:
    ///   - first: The rules before the first change.
    ///   - interval: The shortest time between two looks at the file.
    init(_ first: TransferTrust, _ system: SystemAuthorities, interval: Duration) {
        self.first = first
        verifies = first.server.verifies
        self.system = system
        self.interval = interval
        latest = Locked(first)
        nextLook = Atomic(MonotonicClock.now().advanced(by: interval).nanoseconds)
    }

    /// The present rules, which are one object until the next change.
    var current: TransferTrust {
        guard verifies, system.number > 0 else { return first }
        let version = system.current
        return latest.withLock { latest in
            // Another thread may have made the rules of a later version meanwhile.
            if latest.server.system.number < version.number {
                var rules = first.server
                rules.system = version
                latest = TransferTrust(server: rules, proxy: rules, number: 0)
            }
            return latest
        }
    }

    /// Begins a look at the system's file if it is time for one. No request waits for it: those that follow use the new authorities.
    func lookIfDue() {
        guard verifies else { return }
        let now = MonotonicClock.now()
        let due = nextLook.load(ordering: .relaxed)
        guard due <= now.nanoseconds else { return }
        let next = now.advanced(by: interval).nanoseconds
        guard nextLook.compareExchange(expected: due, desired: next, ordering: .relaxed).exchanged else { return }
        BlockingThreadPool.begin { [system] in system.look() }
    }
}
