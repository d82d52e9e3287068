import CurlEngine
import HTTPTypes

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
        /// Indicates whether the condition of the request makes the response a 304 (RFC 9110, section 13.2.2).
        var isNotModified = false
        /// Indicates whether the response is validated in the background, after its use (RFC 5861, section 3).
        var isValidatedAfterwards = false
    }

    /// A stored response as a candidate for the response to a request.
    struct Candidate: Sendable {
        let head: StoredHead
        let selection: VarySelection
        /// The number of bytes of the complete representation.
        let length: Int64
        /// The stored part of the representation; `nil` if it is complete.
        var part: Range<Int64>?

        /// Returns the range of a request that is to be answered; `nil` for the complete representation.
        func range(for request: Request) -> RequestedRange? {
            // The range of another method has no meaning (RFC 9110, section 14.2).
            guard request.method == .get, head.status == 200 || head.status == 206 else { return nil }
            if let condition = request.headers.single(.ifRange) {
                guard let validator = StrongValidator(head.headers), validator.text.hasSameBytes(as: condition) else {
                    return nil
                }
            }
            return RequestedRange(request.headers)
        }
    }

    /// A request, as far as it matters here.
    struct Request: Sendable {
        let method: HTTPRequest.Method
        /// The fields as they are to be sent.
        let headers: HTTPFields
        var mode = CacheMode.default
    }

    /// Returns the decision about a request.
    static func decision(
        for request: Request, _ candidates: [Candidate], at now: CacheTime, _ policy: CachePolicy
    ) -> CacheDecision {
        switch request.mode {
        case .noStore, .reload: return .forward(.bypass, validating: nil)
        case .default, .noCache, .forceCache, .onlyIfCached: break
        }
        guard request.method == .get || request.method == .head else {
            return request.mode == .onlyIfCached ? .unsatisfiable : .forward(.method, validating: nil)
        }
        let directives = CacheDirectives(request: request.headers)
        let decision = decision(for: request, directives, candidates, at: now, policy)
        let mustNotBeSent = request.mode == .onlyIfCached || directives.contains("only-if-cached")
        if mustNotBeSent, case .forward = decision { return .unsatisfiable }
        return decision
    }

    private static func decision(
        for request: Request, _ directives: CacheDirectives, _ candidates: [Candidate], at now: CacheTime,
        _ policy: CachePolicy
    ) -> CacheDecision {
        let matching = candidates.indices.filter { candidates[$0].selection.matches(request.headers) }
        // The latest of several (RFC 9111, section 4).
        guard let index = matching.max(by: { candidates[$0].head.isOlder(than: candidates[$1].head) }) else {
            return .forward(candidates.isEmpty ? .uriMiss : .varyMiss, validating: nil)
        }
        let head = candidates[index].head
        // Conditions that only the origin can decide (RFC 9111, section 4.3.2).
        if request.headers[.ifMatch] != nil || request.headers[.ifUnmodifiedSince] != nil {
            return .forward(.request, validating: nil)
        }
        let usability = CacheUsability(head, directives, request.mode, at: now, policy)
        let validating = head.hasValidator ? index : nil
        switch usability.outcome {
        case .fresh, .staleAllowed, .staleWhileRevalidate:
            var use = Use(index: index, age: usability.age, timeToLive: usability.timeToLive)
            if let range = candidates[index].range(for: request) {
                // The origin tells the length of its representation if it has no such bytes.
                guard let bytes = range.bytes(of: candidates[index].length) else {
                    return .forward(.request, validating: nil)
                }
                use.range = bytes
            }
            let needed = use.range ?? 0..<candidates[index].length
            if let part = candidates[index].part, part.clamped(to: needed) != needed {
                return .forward(.partial, validating: nil)
            }
            use.isNotModified = head.satisfiesCondition(of: request.headers)
            use.isValidatedAfterwards = usability.outcome == .staleWhileRevalidate
            return .use(use)
        case .mustValidate: return .forward(usability.timeToLive > 0 ? .request : .stale, validating: validating)
        }
    }
}

extension CacheDirectives {
    /// Creates the directives of a request: those of `Cache-Control`, or of `Pragma: no-cache` without it (RFC 9111, section 5.4).
    init(request headers: HTTPFields) {
        let lines = headers[values: .cacheControl]
        self.init(parsing: lines)
        guard lines.isEmpty, let pragma = HTTPField.Name("Pragma") else { return }
        if CacheDirectives(parsing: headers[values: pragma]).contains("no-cache") { add("no-cache") }
    }
}

extension StoredHead {
    /// Returns whether the origin has made another response later.
    fileprivate func isOlder(than other: StoredHead) -> Bool {
        date == other.date ? responseTime < other.responseTime : date < other.date
    }

    /// Returns whether the request has a condition that makes this response a 304 (RFC 9110, sections 13.1.2 and 13.1.3).
    func satisfiesCondition(of request: HTTPFields) -> Bool {
        guard status == 200 else { return false }
        let tags = request[values: .ifNoneMatch]
        guard tags.isEmpty else {
            let isAny = tags.contains { Substring($0).utf8.trimmingBlanks.elementsEqual("*".utf8) }
            return isAny || entityTag.map { EntityTags.contains(tags, $0) } ?? false
        }
        guard let text = request.single(.ifModifiedSince),
            let since = HTTPDate(text, now: responseTime.date)
        else { return false }
        // Without a date of the last modification, that of the response counts.
        return (lastModified ?? date.date) <= since
    }
}

/// Lists of entity tags in conditions.
enum EntityTags {
    /// Returns whether a list has a tag that is the same but for its strength (RFC 9110, section 8.8.3.2).
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
