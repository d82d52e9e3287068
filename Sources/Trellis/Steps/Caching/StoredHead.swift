import CurlEngine
import HTTPTypes

/// The head of a response in a cache, with the times that its age is computed from.
struct StoredHead: Hashable, Sendable {
    /// The status code.
    var status: Int
    /// The fields as they were received, without those that concern only the connection.
    var headers: HTTPFields
    /// The instant at which the request was sent.
    var requestTime: CacheTime
    /// The instant at which the head was received.
    var responseTime: CacheTime

    /// The instant at which the origin made the response; that of its reception without a valid `Date` (RFC 9110, section 6.6.1).
    var date: CacheTime {
        headers.single(.date).flatMap { HTTPDate($0, now: responseTime.date) }.map { CacheTime($0) } ?? responseTime
    }

    /// The strong or weak entity tag; `nil` without a single one.
    var entityTag: String? { headers.single(.eTag) }

    /// The date of the last modification; `nil` without a single valid one.
    var lastModified: HTTPDate? {
        headers.single(.lastModified).flatMap { HTTPDate($0, now: responseTime.date) }
    }

    /// Indicates whether the origin can be asked whether the response is still valid (RFC 9111, section 4.3.1).
    var hasValidator: Bool { entityTag != nil || lastModified != nil }

    // MARK: Age

    /// The age at the reception, in milliseconds (RFC 9111, section 4.2.3).
    private var initialAge: Int64 {
        let apparent = max(responseTime.milliseconds(since: date), 0)
        let delay = max(responseTime.milliseconds(since: requestTime), 0)
        return max(apparent, receivedAge.addingWithLimit(delay))
    }

    /// The first number of `Age`, in milliseconds; zero if it is not a number (RFC 9111, section 5.1).
    private var receivedAge: Int64 {
        guard let line = headers[values: .age].first,
            let text = FieldScanner.elements(of: line).first?.utf8.trimmingBlanks,
            let seconds = DeltaSeconds.parse(String(Substring(text)))
        else { return 0 }
        return min(seconds, CacheDirectives.Seconds.maximum) * 1000
    }

    /// Returns the age in milliseconds (RFC 9111, section 4.2.3); `nil` if the clock is behind the reception by more than a few seconds, so
    /// that the age is not known.
    func age(at now: CacheTime) -> Int64? {
        let resident = now.milliseconds(since: responseTime)
        guard resident >= -Self.clockTolerance else { return nil }
        return initialAge.addingWithLimit(max(resident, 0))
    }

    /// The time by which the clock may be set back without consequence, in milliseconds.
    private static let clockTolerance: Int64 = 5000
}

extension Int64 {
    /// Returns the sum; the largest number if there is an overflow.
    fileprivate func addingWithLimit(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

extension HTTPFields {
    /// The value of a field whose lines are all equal; `nil` without a line, or if they differ.
    func single(_ name: HTTPField.Name) -> String? {
        let values = self[values: name]
        guard let first = values.first, values.allSatisfy({ $0.hasSameBytes(as: first) }) else { return nil }
        return first
    }
}
