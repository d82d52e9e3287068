import CurlEngine
import HTTPTypes

/// The completion of a stored part (206): the origin is asked for the bytes that the part lacks, or for the complete representation if
/// that is another one now (RFC 9111, section 3.4; RFC 9110, section 13.1.5).
struct PartCompletion: Hashable, Sendable {
    /// The index of the stored response.
    let index: Int
    /// The bytes of the representation that the request asks for.
    let needed: Range<Int64>
    /// The bytes among them that are not stored, or those before the part if it lacks some at both ends.
    let missing: Range<Int64>
    /// The number of bytes of the complete representation.
    let total: Int64
    /// The validator of the stored part.
    let validator: StrongValidator
    /// Whether the part lacks bytes at its end too. They are requested when the ones before the part are stored with it.
    let isFirstOfTwo: Bool

    /// Creates the completion; `nil` if the request is sent as it is: the part has no bytes that it asks for, or lacks some at both ends
    /// and is not most of the representation, or has no validator that tells its representation from others.
    ///
    /// - Parameter needed: The bytes that the request asks for, of which the part lacks some.
    init?(_ index: Int, _ candidate: CacheDecision.Candidate, needed: Range<Int64>) {
        let facts = candidate.facts
        guard let part = candidate.part, part.overlaps(needed), let validator = facts.head.strongValidator else {
            return nil
        }
        // The response to this request would be selected by fields that the caller's request does not have.
        guard let names = facts.selection?.names, !names.contains(.range), !names.contains(.ifRange) else { return nil }
        let (lacksBefore, lacksAfter) = (needed.lowerBound < part.lowerBound, part.upperBound < needed.upperBound)
        guard lacksBefore || lacksAfter else { return nil }
        isFirstOfTwo = lacksBefore && lacksAfter
        if isFirstOfTwo, !Self.isWorthTwoRequests(part, needed, candidate.length) { return nil }
        missing = lacksBefore ? needed.lowerBound..<part.lowerBound : part.upperBound..<needed.upperBound
        (self.index, self.needed, self.total, self.validator) = (index, needed, candidate.length, validator)
    }

    /// Returns whether two requests, one after the other, are better than one for everything: they take a round trip more, and what they
    /// bring is stored for the complete representation alone.
    private static func isWorthTwoRequests(_ part: Range<Int64>, _ needed: Range<Int64>, _ total: Int64) -> Bool {
        needed == 0..<total && Int64(part.count) > total - Int64(part.count)
    }

    /// The largest number of stored bytes that precede the missing ones in a stream. The origin's response to the request for the missing
    /// ones waits while the reader gets these: many of them would take longer than the origin holds its connection.
    private static let maximumBefore: Int64 = 1 << 20

    /// Whether the request of a stream is sent as it is, because too many stored bytes precede the missing ones, or because its
    /// reader would wait for the bytes before the part until all of them are stored.
    var isTooLongForStream: Bool { isFirstOfTwo || missing.lowerBound - needed.lowerBound > Self.maximumBefore }

    /// The fields of the request for the missing bytes.
    var fields: HTTPFields {
        let last = missing.upperBound == total ? "" : "\(missing.upperBound - 1)"
        return [.range: "bytes=\(missing.lowerBound)-\(last)", .ifRange: validator.text]
    }

    /// Returns the combination of the stored part with the response to the request; `nil` if that has not exactly the missing bytes of the
    /// same representation.
    func combination(_ stored: StoredHead, _ received: StoredHead) -> PartCombination? {
        guard let combination = PartCombination(stored, received, isConditional: true),
            combination.received == missing, combination.total == total
        else { return nil }
        return combination
    }
}

/// The combination of a stored part with a received one of the same representation, which it touches (RFC 9110, section 15.3.7.3).
struct PartCombination: Hashable, Sendable {
    /// The received bytes of the representation.
    let received: Range<Int64>
    /// The stored bytes just before the received ones.
    let before: Range<Int64>
    /// The stored bytes just after the received ones.
    let after: Range<Int64>
    /// The number of bytes of the complete representation.
    let total: Int64
    /// The bytes of the representation that the stored part has.
    private let stored: Range<Int64>

    /// Creates the combination; `nil` if anything differs: the strong validator, the length of the representation, or its content coding.
    ///
    /// - Parameter isConditional: Whether the received part is the response to a request whose `If-Range` has the validator of
    ///   the stored one. Such a part need not repeat all fields (RFC 9110, section 15.3.7).
    init?(_ stored: StoredHead, _ received: StoredHead, isConditional: Bool) {
        guard let old = stored.part, let new = received.part, old.total == new.total,
            old.range.lowerBound <= new.range.upperBound, new.range.lowerBound <= old.range.upperBound,
            Self.areOfOneRepresentation(stored, received, isConditional),
            Self.haveSameCodings(stored, received, isConditional)
        else { return nil }
        (self.received, total, self.stored) = (new.range, new.total, old.range)
        before = min(old.range.lowerBound, new.range.lowerBound)..<new.range.lowerBound
        after = new.range.upperBound..<max(old.range.upperBound, new.range.upperBound)
    }

    /// Returns whether both parts have the same strong validator.
    private static func areOfOneRepresentation(
        _ stored: StoredHead, _ received: StoredHead, _ isConditional: Bool
    ) -> Bool {
        guard let validator = stored.strongValidator else { return false }
        if let other = received.strongValidator, other == validator { return true }
        // A part need not repeat the time with which it was asked for, or may lack the Date that makes the time strong.
        guard isConditional, case .lastModified = validator, !received.deciding.contains(.eTag) else { return false }
        return validator.fits(partWith: received.deciding)
    }

    private static func haveSameCodings(_ stored: StoredHead, _ received: StoredHead, _ isConditional: Bool) -> Bool {
        if isConditional, !received.deciding.contains(.contentEncoding) { return true }
        return CodedBody.codings(stored.deciding).elementsEqual(CodedBody.codings(received.deciding)) {
            $0.hasSameBytes(as: $1)
        }
    }

    /// The largest number of stored bytes that are copied for each received one.
    private static let maximumShare = 8

    /// Whether both parts are stored as one although the caller has asked for the received one alone. A long part is not copied
    /// for each short one that follows.
    var isWorthCopying: Bool {
        let count = before.count + after.count
        return count > 0 && count / Self.maximumShare <= received.count
    }

    /// The bytes of the representation that both parts have together.
    var range: Range<Int64> { before.lowerBound..<after.upperBound }

    /// Returns bytes of the representation as bytes of the stored part's body.
    func stored(_ range: Range<Int64>) -> Range<Int64> {
        range.lowerBound - stored.lowerBound..<range.upperBound - stored.lowerBound
    }

    /// Returns the head of both parts together: the fields of the newer one take the places of the stored ones, and the complete
    /// representation is a 200.
    func head(_ stored: StoredHead, _ received: StoredHead, _ policy: CachePolicy) -> StoredHead {
        var head = CacheUpdate.updated(stored, with: received, policy)
        var headers = head.headers.filter { !ContentDigests.names.contains($0.name.canonicalName) }
        let isComplete = range == 0..<total
        headers[.contentRange] = isComplete ? nil : "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)"
        headers[.contentLength] = "\(range.count)"
        head.headers = headers
        head.status = isComplete ? 200 : 206
        return head
    }
}

extension StoredHead {
    /// The validator that distinguishes the representation from every other one of its URL; `nil` without one. A tag that is not UTF-8 has
    /// no exact text.
    var strongValidator: StrongValidator? {
        let validator = StrongValidator(deciding)
        if case .entityTag? = validator, entityTag == nil { return nil }
        return validator
    }
}
