import CurlEngine

/// ``Timeouts`` in nanoseconds: they are looked at several times in every request.
struct TimeLimits: Hashable, Sendable {
    let connect: UInt64?
    let responseHead: UInt64?
    let idle: UInt64?
    let total: UInt64?
    /// No limit that begins now is over sooner.
    let shortest: UInt64

    /// - Parameter hasDefaultTotal: As in ``Timeouts/total(hasDefault:)``.
    init(_ timeouts: Timeouts, hasDefaultTotal: Bool = true) {
        connect = timeouts.connect?.clampedNanoseconds
        responseHead = timeouts.responseHead?.clampedNanoseconds
        idle = timeouts.idle?.clampedNanoseconds
        total = timeouts.total(hasDefault: hasDefaultTotal)?.clampedNanoseconds
        shortest = min(connect ?? .max, responseHead ?? .max, idle ?? .max)
    }

    private init(_ limits: TimeLimits, total: UInt64?) {
        connect = limits.connect
        responseHead = limits.responseHead
        idle = limits.idle
        self.total = total
        shortest = limits.shortest
    }

    /// These limits within the total of a call.
    func within(_ total: UInt64?) -> TimeLimits {
        guard let total, total < self.total ?? .max else { return self }
        return TimeLimits(self, total: total)
    }
}
