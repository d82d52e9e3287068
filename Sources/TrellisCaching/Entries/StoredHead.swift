import CurlEngine
import HTTPTypes
import TrellisCore

/// The head of a response in a cache, with the times that its age is computed from.
struct StoredHead: Hashable, Sendable {
    private enum Fields: Sendable {
        case complete(HTTPFields)
        case received(ReceivedFields)
    }

    /// The status code.
    var status: Int
    private var fields: Fields
    /// The instant at which the request was sent.
    var requestTime: CacheTime
    /// The instant at which the head was received.
    var responseTime: CacheTime

    init(status: Int, headers: HTTPFields, requestTime: CacheTime, responseTime: CacheTime) {
        (self.status, fields) = (status, .complete(headers))
        (self.requestTime, self.responseTime) = (requestTime, responseTime)
    }

    /// Creates the head of a response that has been received now.
    ///
    /// - Parameter start: The instant before the exchange. The time that the exchange then waited for its turn is no age: it had not been
    ///   sent (RFC 9111, section 4.2.3).
    init(_ response: Response, start: CacheTime, _ cache: HTTPCache) {
        let queued = response.queuedTime / 1_000_000
        let sent = CacheTime(milliseconds: start.milliseconds.addingWithLimit(queued))
        self.init(
            response.head, requestTime: sent, responseTime: cache.now, cacheHeaderLengths: cache.cacheHeaderLengths)
    }

    /// Creates the head of a response that has been received.
    ///
    /// - Parameter cacheHeaderLengths: The lengths of the names of the fields that decide (``ReceivedFields/cacheHeaderLengths(_:)``).
    init(_ head: ResponseHead, requestTime: CacheTime, responseTime: CacheTime, cacheHeaderLengths: UInt64) {
        status = head.status.code
        fields = .received(ReceivedFields(head, nameLengths: cacheHeaderLengths, now: responseTime))
        (self.requestTime, self.responseTime) = (requestTime, responseTime)
    }

    /// The fields as they were received, without those that concern only the connection.
    var headers: HTTPFields {
        get {
            switch fields {
            case .complete(let headers): headers
            case .received(let received): received.complete
            }
        }
        set { fields = .complete(newValue) }
    }

    /// The length of the body, if the head has one that is valid: with a `Transfer-Encoding` it has none (RFC 9112, section 6.3).
    var length: Int64? {
        switch fields {
        case .complete(let headers): headers[.contentLength].flatMap { Int64($0) }
        case .received(let received): received.length
        }
    }

    /// The fields that decide about the storing and the use of the response, perhaps with others. Of a head that was received, only
    /// these are parsed.
    var deciding: HTTPFields {
        switch fields {
        case .complete(let headers): headers
        case .received(let received): received.deciding
        }
    }

    /// The facts in these fields. For a head that was received they are known; for any other one, each access is a pass over all fields.
    var values: CacheHeaders {
        switch fields {
        case .complete(let headers): CacheHeaders(headers, now: responseTime)
        case .received(let received): received.values
        }
    }

    /// Whether there may be a `Vary`.
    var mayVary: Bool {
        switch fields {
        case .complete: true
        case .received(let received): received.values.hasVary
        }
    }

    /// The number of bytes that the fields take in memory, about.
    var size: Int {
        switch fields {
        case .complete(let headers):
            var size = 0
            for field in headers { size += field.name.rawName.utf8.count + field.value.utf8.count + 32 }
            return size
        case .received(let received): return received.size
        }
    }

    /// The instant at which the origin made the response; the instant of its reception without a valid `Date` (RFC 9110, section 6.6.1).
    var date: CacheTime { date(values) }

    /// Returns the ``date``.
    ///
    /// - Parameter values: The ``values``, which take long to find.
    func date(_ values: CacheHeaders) -> CacheTime { values.date.map { CacheTime($0) } ?? responseTime }

    /// The strong or weak entity tag; `nil` without a single one.
    var entityTag: String? { deciding.single(.eTag) }

    /// The validator that distinguishes the representation from every other one of its URL, if any. A tag that is not UTF-8 has no exact
    /// text.
    var strongValidator: StrongValidator? {
        let validator = StrongValidator(deciding)
        if case .entityTag? = validator, entityTag == nil { return nil }
        return validator
    }

    /// The date of the last modification; `nil` without a single valid one.
    var lastModified: HTTPDate? { values.lastModified }

    /// Whether the origin can be asked whether the response is still valid (RFC 9111, section 4.3.1).
    var hasValidator: Bool { hasValidator(values) }

    /// Returns whether the origin can be asked whether the response is still valid.
    func hasValidator(_ values: CacheHeaders) -> Bool { values.hasEntityTag || values.lastModified != nil }

    /// The part of the representation that the body is, and the length of the complete one; `nil` if the body is complete, or the length is
    /// not known.
    var part: (range: Range<Int64>, total: Int64)? {
        guard status == 206, let text = deciding.single(.contentRange),
            case .part(let range, let total?)? = ContentRange(text)
        else { return nil }
        return (range, total)
    }

    /// Whether the body is a part of a representation, or may be one (``ContentRange/claimsPart(status:_:)``).
    var claimsPart: Bool {
        if status != 206, case .received(let received) = fields, !received.values.hasRange { return false }
        return ContentRange.claimsPart(status: status, deciding)
    }

    // MARK: Age

    /// Returns the age at the reception, in milliseconds (RFC 9111, section 4.2.3).
    ///
    /// - Parameter date: The value of ``date``, which takes long to compute.
    func initialAge(date: CacheTime, _ values: CacheHeaders) -> Int64 {
        let apparent = max(responseTime.milliseconds(since: date), 0)
        let delay = max(responseTime.milliseconds(since: requestTime), 0)
        return max(apparent, (Int64(values.age ?? 0) * 1000).addingWithLimit(delay))
    }

    /// Returns the age in milliseconds (RFC 9111, section 4.2.3); `nil` if the clock is behind the reception by more than a few seconds, so
    /// that the age is not known.
    ///
    /// - Parameter initialAge: The value of ``initialAge(date:_:)``.
    func age(at now: CacheTime, initialAge: Int64) -> Int64? {
        let resident = now.milliseconds(since: responseTime)
        guard resident >= -Self.clockTolerance else { return nil }
        return initialAge.addingWithLimit(max(resident, 0))
    }

    /// The time by which the clock may be set back without consequence, in milliseconds.
    private static let clockTolerance: Int64 = 5000
}

extension StoredHead {
    static func == (one: StoredHead, other: StoredHead) -> Bool {
        one.status == other.status && one.requestTime == other.requestTime && one.responseTime == other.responseTime
            && one.headers == other.headers
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(status)
        hasher.combine(responseTime)
        hasher.combine(headers)
    }
}

extension Int64 {
    /// Returns the sum; the largest number if there is an overflow.
    fileprivate func addingWithLimit(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

extension HTTPFields {
    /// The value of a field whose lines are all equal; `nil` without a line, if they differ, or if they are not UTF-8.
    func single(_ name: HTTPField.Name) -> String? {
        var value: String?
        for field in self where field.name == name {
            if field.octetsBeyondUTF8 != nil { return nil }
            guard let known = value else {
                value = field.value
                continue
            }
            guard known.hasSameBytes(as: field.value) else { return nil }
        }
        return value
    }
}
