import CurlEngine

/// The time limits of ``Timeouts`` in nanoseconds, converted once because each request reads them several times; `nil` if there is no
/// limit. Most requests of a session share one instance.
final class TimeLimits: Sendable {
    let connect: UInt64?
    let responseHead: UInt64?
    let idle: UInt64?
    let total: UInt64?
    /// The shortest limit except the total. A limit that begins now does not end earlier. `.max` if there is no limit.
    let shortest: UInt64

    /// Converts timeouts to nanoseconds.
    ///
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

    /// Returns these limits, with the total limit of a call if that one is shorter.
    func within(_ total: UInt64?) -> TimeLimits {
        guard let total, total < self.total ?? .max else { return self }
        return TimeLimits(self, total: total)
    }
}

extension TimeLimits: Equatable {
    static func == (one: TimeLimits, other: TimeLimits) -> Bool {
        one.connect == other.connect && one.responseHead == other.responseHead && one.idle == other.idle
            && one.total == other.total
    }
}
