import CurlEngine
import HTTPTypes
import TrellisCore

/// The judgements about a response that was received: whether it is stored, and whether it replaces what is.
extension CacheLookup {
    /// The refusal to store a response, whatever a handler makes of its head.
    struct Refusal {
        /// The detail in `Cache-Status`; `nil` without one.
        var detail: String?
    }

    /// Returns the refusal to store a response; `nil` if its head decides.
    func refusal(of received: StoredHead) -> Refusal? {
        if request.cacheMode == .noStore { return Refusal(detail: "mode-no-store") }
        return isMethodStorable(received) ? nil : Refusal(detail: detail(of: received))
    }

    /// Returns the reason why a response is not stored whatever its fields allow; `nil` if the method of the request is reason enough.
    private func detail(of received: StoredHead) -> String? {
        switch request.method {
        case .get: Self.subject(of: received)
        case .post: received.deciding.contains(.contentLocation) ? "content-location" : nil
        default: nil
        }
    }

    /// Returns whether a response may be stored.
    func storability(of facts: CacheFacts, method: HTTPRequest.Method) -> CacheStorability {
        CacheStorability.decision(facts, to: method, fields)
    }

    /// Returns whether the method and the status are ones whose responses can be stored.
    private func isMethodStorable(_ received: StoredHead) -> Bool {
        switch request.method {
        case .get:
            guard received.status == 206 else { return !Self.isAboutRequestAlone(received) }
            return RequestedRange(fields.headers) != nil
        case .post:
            // The response to a POST is one to a GET if it says so itself (RFC 9110, section 9.3.3).
            guard 200...299 ~= received.status, !received.claimsPart,
                let location = received.headers.single(.contentLocation)
            else { return false }
            let target = URLReference(location).resolved(against: URLReference(url.text)).text
            return (try? WireURL(parsing: target))?.canonicalText.hasSameBytes(as: url.canonicalText) ?? false
        default: return false
        }
    }

    /// Returns whether a response replaces those that are stored, although it is not stored itself.
    func replacesStored(_ received: StoredHead) -> Bool {
        request.method == .get && request.cacheMode != .noStore && received.status < 500
            && !Self.isAboutRequestAlone(received) && isForOthers(received)
    }

    /// Returns whether a response is also one to other requests for the URL. A request that says `no-store`, or one user's with
    /// credentials in a cache of many, must not remove what is stored for the others (RFC 9111, sections 5.2.1.5 and 3.5).
    func isForOthers(_ received: StoredHead) -> Bool {
        guard !fields.directives.contains(.noStore) else { return false }
        let directives = CacheFreshness.directives(of: received, received.values, policy).0
        return !CacheStorability.isForOneUser(directives, under: policy, to: fields)
    }

    /// Returns whether a response is about a part, a condition or the credentials of the request, or about this attempt, and not about the
    /// URL.
    private static func isAboutRequestAlone(_ received: StoredHead) -> Bool { subject(of: received) != nil }

    /// Returns the part of the request that a response is about, as a token for `Cache-Status`; `nil` if it is about the URL.
    private static func subject(of received: StoredHead) -> String? {
        switch received.status {
        case 200...299: received.claimsPart ? "range" : nil
        case 416: "range"
        case 304, 412: "condition"
        case 401, 407: "credentials"
        case 417: "expectation"
        // Too many requests must not be stored (RFC 6585, section 4). The others are about the time and the connection of a request.
        case 408, 421, 425, 429: "attempt"
        default: nil
        }
    }
}

extension CacheStorability.Reason {
    /// The reason as a token for `Cache-Status`.
    var token: String {
        switch self {
        case .method: "method"
        case .requestNoStore: "request-no-store"
        case .noStore: "no-store"
        case .private: "private"
        case .authorization: "authorization"
        case .unknownStatus: "unknown-status"
        case .varyAny: "vary-any"
        case .range: "range"
        case .notReusable: "not-reusable"
        }
    }
}
