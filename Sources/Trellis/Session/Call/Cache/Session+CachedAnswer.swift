import CurlEngine
import FoundationEssentials

/// Stored responses without a call: a hit in memory needs neither an actor nor a task.
extension Session {
    /// The use of a cache in memory before there is a call.
    enum CacheBeginning {
        /// The response is stored.
        case stored(Answer)
        /// The request has begun its passage through the cache, and is sent.
        case sending(DirectCacheTurn)
        /// The request takes the way through its steps.
        case call
    }

    /// Returns the stored response to a request if there is a fresh one in memory, and no step has to do with it.
    ///
    /// - Parameter hasConditions: Indicates whether the caller has conditions of the response, after whose failure a retrier may be asked.
    @inline(never)
    func beginWithCache(
        _ request: Request, _ hits: ImmediateHits, _ start: EngineInstant, hasConditions: Bool
    ) -> CacheBeginning {
        guard request.attachment == nil, request.extras == nil, request.method == .get, request.body == nil,
            !hub.isObserved, !life.isShutDown, !configuration.hasUpgrades, !Task.isCancelled
        else { return .call }
        var completed = request
        if preparation.urlDefaults != nil {
            guard let complete = try? preparation.completingURL(of: request) else { return .call }
            completed = complete
        }
        let asked = completed
        if hits.hasCookies, let jar = hits.cookies { completed = jar.addingCookies(to: completed) }
        guard
            let lookup = try? CacheLookup(
                completed, asked: asked, hits.immediate.cache, preparation, hasLeft: false)
        else { return .call }
        let limit = completed.maximumBodySize ?? configuration.maximumBodySize
        switch DirectCacheTurn.begin(lookup, hits.immediate, limit: limit) {
        case .waiting: return .call
        case .sending(let turn):
            guard preparation.mustWait(for: completed, clock) else { return .sending(turn) }
            turn.leave()
            return .call
        case .stored(let answer):
            guard !answer.mayBeContinued(hasRetriers: hits.hasRetriers, hasConditions: hasConditions) else {
                return .call
            }
            hits.immediate.cache.record(answer.status)
            let total = clock.now().nanoseconds(since: start)
            return .stored(
                Answer(
                    to: lookup, response: answer.response(callID: Call.nextID(), total: total), body: answer.body,
                    observer: nil))
        }
    }
}
