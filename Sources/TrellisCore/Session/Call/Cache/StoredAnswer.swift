import CurlEngine
import FoundationEssentials
import HTTPTypes

/// A stored response with its body in memory.
struct StoredAnswer: Sendable {
    let lookup: CacheLookup
    let body: Data
    let head: ResponseHead
    let status: CacheStatus

    /// Returns whether the call may continue after the response: a redirect is followed, and retriers are asked about failures.
    func mayBeContinued(hasRetriers: Bool, hasConditions: Bool) -> Bool {
        head.status.isRedirect || hasRetriers && (hasConditions || head.status.code >= 400)
    }

    /// Returns the response of a call.
    ///
    /// - Parameter total: The time since the call was made, in nanoseconds.
    func response(callID: UInt64, total: Int64) -> Response {
        var metrics = Metrics()
        metrics.callID = callID
        metrics.totalTime = total
        metrics.attemptCount = 1
        metrics.cacheStatus = status
        return Response(head: head, url: lookup.url.text, metrics: metrics, to: lookup.answered)
    }
}

extension CacheLookup {
    /// Returns a stored response whose body is in memory as the response to the request; `nil` if the body is elsewhere, is to be decoded,
    /// or is too large, so that the way through the steps reports that.
    func answer(_ entry: CacheEntry, _ use: CacheDecision.Use, limit: ByteLimit) -> StoredAnswer? {
        guard !use.isValidatedAfterwards, let body = entry.memoryBody else { return nil }
        let (head, range) = head(entry, use)
        guard !limit.isExceeded(by: range.count), range.isEmpty || !isDecoded(entry) else { return nil }
        var status = CacheStatus(nil)
        status.secondsToLive = use.timeToLive
        status.key = key?.url
        return StoredAnswer(
            lookup: self, body: range.isEmpty ? Data() : body.bytes(in: range), head: head, status: status)
    }
}
