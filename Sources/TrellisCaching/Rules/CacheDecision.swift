import CurlEngine
import HTTPTypes
import TrellisCore

/// The decision about a request that has a cache: a pure function of the request, the stored responses to its URL, and the time (RFC 9111,
/// section 4).
enum CacheDecision: Hashable, Sendable {
    /// A stored response is the response to the request.
    case use(Use)
    /// The request is sent. If there is a stored response, it is validated: its validators are sent, unless the request has conditions of
    /// its own.
    case forward(CacheStatus.ForwardReason, validating: Int?)
    /// The response is a 504, because the request must not be sent (RFC 9111, section 5.2.1.7).
    case unsatisfiable

    /// The use of a stored response.
    struct Use: Hashable, Sendable {
        /// The index of the response.
        let index: Int
        /// The age in seconds, for the field `Age`.
        let age: Int64
        /// The time in seconds for which the response stays fresh; negative if it is stale.
        let timeToLive: Int64
        /// The part of the representation that the request asks for; `nil` for the complete one.
        var range: Range<Int64>?
        /// Whether the condition of the request makes the response a 304 (RFC 9110, section 13.2.2).
        var isNotModified = false
        /// Whether the response is validated in the background, after its use (RFC 5861, section 3).
        var isValidatedAfterwards = false
    }

    /// A stored response as a candidate for the response to a request.
    struct Candidate: Sendable {
        let facts: CacheFacts
        /// The number of bytes of the complete representation.
        let length: Int64
        /// The stored part of the representation; `nil` if it is complete.
        var part: Range<Int64>?

        /// Returns the range of a request that is to be answered; `nil` for the complete representation.
        func range(for request: Request) -> RequestedRange? {
            // The range of another method has no meaning (RFC 9110, section 14.2).
            guard request.fields.presence.contains(.range), request.method == .get,
                facts.head.status == 200 || facts.head.status == 206
            else { return nil }
            if let condition = request.fields.headers.single(.ifRange) {
                guard let validator = StrongValidator(facts.head.deciding),
                    validator.text.hasSameBytes(as: condition)
                else { return nil }
            }
            return RequestedRange(request.fields.headers)
        }
    }

    /// A request, as far as it matters here.
    struct Request: Sendable {
        let method: HTTPRequest.Method
        let fields: CacheRequestFields
        var mode = CacheMode.default

        /// Whether only a stored response may be the response (RFC 9111, section 5.2.1.7).
        var mustNotBeSent: Bool { mode == .onlyIfCached || fields.directives.contains(.onlyIfCached) }
    }

    /// Returns the decision about a request.
    static func decision<Candidates: RandomAccessCollection<Candidate>>(
        for request: Request, _ candidates: Candidates, at now: CacheTime
    ) -> CacheDecision where Candidates.Index == Int {
        let decision = possibleDecision(for: request, candidates, at: now)
        switch decision {
        case .forward where request.mustNotBeSent: return .unsatisfiable
        case .forward, .use, .unsatisfiable: return decision
        }
    }

    /// Returns the decision about a request that may be sent.
    private static func possibleDecision<Candidates: RandomAccessCollection<Candidate>>(
        for request: Request, _ candidates: Candidates, at now: CacheTime
    ) -> CacheDecision where Candidates.Index == Int {
        switch request.mode {
        case .noStore, .reload: return .forward(.bypass, validating: nil)
        case .default, .noCache, .forceCache, .onlyIfCached: break
        }
        guard request.method == .get || request.method == .head else { return .forward(.method, validating: nil) }
        guard let index = latest(of: candidates, for: request.fields.headers) else {
            return .forward(candidates.isEmpty ? .uriMiss : .varyMiss, validating: nil)
        }
        // Conditions that only the origin can decide (RFC 9111, section 4.3.2).
        if request.fields.presence.contains(.ifUnchanged) { return .forward(.request, validating: nil) }
        let candidate = candidates[index]
        let range = candidate.range(for: request)
        let bytes = range?.bytes(of: candidate.length)
        let hasNoSuchBytes = range != nil && bytes == nil
        if let part = candidate.part {
            // A 304 would not make such a part, fresh or stale, the response: its validators are not sent.
            if hasNoSuchBytes { return .forward(.request, validating: nil) }
            let needed = bytes ?? 0..<candidate.length
            guard part.clamped(to: needed) == needed else { return .forward(.partial, validating: nil) }
        }
        let facts = candidate.facts
        let usability = CacheUsability(of: facts, for: request.fields.directives, mode: request.mode, at: now)
        let validating = facts.hasValidator ? index : nil
        switch usability.outcome {
        case .fresh, .staleAllowed, .staleWhileRevalidate:
            // The origin tells the length of its representation if it has no such bytes.
            if hasNoSuchBytes { return .forward(.request, validating: nil) }
            var use = Use(index: index, age: usability.age, timeToLive: usability.timeToLive, range: bytes)
            use.isNotModified =
                request.fields.presence.contains(.ifChanged)
                && facts.head.satisfiesCondition(of: request.fields.headers)
            use.isValidatedAfterwards = usability.outcome == .staleWhileRevalidate && !request.mustNotBeSent
            return .use(use)
        case .mustValidate: return .forward(usability.timeToLive > 0 ? .request : .stale, validating: validating)
        }
    }

    /// Returns the index of the latest of the responses that the origin has selected for such a request (RFC 9111, section 4); `nil` if
    /// there is none.
    private static func latest<Candidates: RandomAccessCollection<Candidate>>(
        of candidates: Candidates, for request: HTTPFields
    ) -> Int? where Candidates.Index == Int {
        var latest: Int?
        for index in candidates.indices where candidates[index].facts.selection?.matches(request) ?? false {
            guard let known = latest else {
                latest = index
                continue
            }
            if candidates[known].facts.isOlder(than: candidates[index].facts) { latest = index }
        }
        return latest
    }
}

extension StoredHead {
    /// Returns whether the request has a condition that makes this response a 304 (RFC 9110, sections 13.1.2 and 13.1.3). Only a 200 and a
    /// 206 have validators of the representation that the request asks for (RFC 9111, section 4.3.2).
    func satisfiesCondition(of request: HTTPFields) -> Bool {
        guard status == 200 || status == 206 else { return false }
        let tags = request[values: .ifNoneMatch]
        guard tags.isEmpty else {
            let isAny = tags.contains { Substring($0).utf8.trimmingBlanks.elementsEqual("*".utf8) }
            return isAny || entityTag.map { EntityTags.contains(tags, $0) } ?? false
        }
        guard let text = request.single(.ifModifiedSince),
            let since = HTTPDate(text, now: responseTime.date)
        else { return false }
        // Without a date of the last modification, the response's date counts.
        return (lastModified ?? date.date) <= since
    }
}

/// Lists of entity tags in conditions.
enum EntityTags {
    /// Returns whether a list has a tag that is the same except for its strength (RFC 9110, section 8.8.3.2).
    static func contains(_ lines: [String], _ tag: String) -> Bool {
        let opaque = opaque(tag)
        return lines.flatMap { FieldScanner.elements(of: $0) }
            .contains { Self.opaque(Substring($0.utf8.trimmingBlanks)).elementsEqual(opaque) }
    }

    private static func opaque(_ tag: some StringProtocol) -> [UInt8] {
        let bytes = Array(tag.utf8)
        return bytes.starts(with: "W/".utf8) ? Array(bytes.dropFirst(2)) : bytes
    }
}
