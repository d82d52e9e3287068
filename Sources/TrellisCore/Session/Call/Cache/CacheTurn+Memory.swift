import CurlEngine
import FoundationEssentials

/// Stored responses that are in memory, which a request gets without waiting.
extension CacheTurn {
    /// Returns the stored response to the request; `nil` if there is none, if something else has to be done, or if the body is not in
    /// memory, is to be decoded, or is too large: then ``run()`` finds the response.
    func answerAtOnce(from storage: MemoryCacheStorage) -> StepResponse? {
        guard let key, request.method == .get, request.body == nil, pipeline.call.delivery == .memory,
            lookup.mayBeAnswered
        else { return nil }
        let entries = usable(storage.entries(for: key))
        guard !entries.isEmpty, case .use(let use) = lookup.decision(about: entries, at: cache.now),
            !use.isValidatedAfterwards, let bytes = entries[use.index].memoryBody
        else { return nil }
        let (head, range) = lookup.head(entries[use.index], use)
        guard !bodyLimit.isExceeded(by: range.count), range.isEmpty || !lookup.isDecoded(entries[use.index]) else {
            return nil
        }
        let call = pipeline.call
        var status = CacheStatus(nil)
        status.secondsToLive = use.timeToLive
        status.key = key.url
        var metrics = Metrics()
        metrics.callID = call.id
        metrics.totalTime = call.clock.now().nanoseconds(since: call.deadline.start)
        metrics.attemptCount = pipeline.context.attempt
        metrics.cacheStatus = status
        let response = Response(
            head: head, url: url.text, metrics: metrics, redirects: pipeline.context.redirects, to: lookup.answered)
        return StepResponse(
            response: response, content: .data(range.isEmpty ? Data() : bytes.bytes(in: range)), to: lookup)
    }

    /// Returns the stored responses that may answer requests. A stored failure is not the response to another attempt.
    func usable(_ entries: [CacheEntry]) -> [CacheEntry] {
        let usable = lookup.usable(entries)
        return pipeline.context.attempt > 1 ? usable.filter { $0.head.stored.status < 400 } : usable
    }
}
