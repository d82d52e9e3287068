import TrellisCore

/// An instant on the system's clock, as stored responses keep it, in milliseconds since 1970.
///
/// The clock may be set back or ahead between two instants.
struct CacheTime: Hashable, Comparable, Sendable {
    /// The milliseconds since 1970.
    var milliseconds: Int64

    init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Creates the instant at the beginning of a second.
    init(_ date: HTTPDate) {
        let (product, overflow) = date.secondsSince1970.multipliedReportingOverflow(by: 1000)
        milliseconds = overflow ? (date.secondsSince1970 < 0 ? .min : .max) : product
    }

    /// The second of the instant.
    var date: HTTPDate { HTTPDate(secondsSince1970: Int64((Double(milliseconds) / 1000).rounded(.down))) }

    /// Returns the milliseconds since another instant; negative if that is later.
    func milliseconds(since other: CacheTime) -> Int64 {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(other.milliseconds)
        return overflow ? (milliseconds < 0 ? .min : .max) : difference
    }

    static func < (left: CacheTime, right: CacheTime) -> Bool { left.milliseconds < right.milliseconds }
}
