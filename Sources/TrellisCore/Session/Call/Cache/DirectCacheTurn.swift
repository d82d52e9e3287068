import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The passage of a request through a cache in memory, for a call without a task of its own. The stages are those of ``CacheTurn``, whose
/// judgements are those of ``CacheLookup``. A request that waits for another one, or about which the origin is asked, needs a task.
final class DirectCacheTurn: HeadValidator {
    /// The first stage of a passage.
    enum Beginning {
        /// A stored response is the response.
        case stored(StoredAnswer)
        /// The request is sent.
        case sending(DirectCacheTurn)
        /// The call needs a task.
        case waiting
    }

    let lookup: CacheLookup
    private let immediate: ImmediateCache
    private let reason: CacheStatus.ForwardReason
    private let ticket: CacheTicket
    private let start: CacheTime

    private var cache: HTTPCache { immediate.cache }

    private init(
        _ lookup: CacheLookup, _ immediate: ImmediateCache, _ reason: CacheStatus.ForwardReason, _ ticket: CacheTicket,
        _ start: CacheTime
    ) {
        (self.lookup, self.immediate, self.reason) = (lookup, immediate, reason)
        (self.ticket, self.start) = (ticket, start)
    }

    /// Begins the passage of a request.
    ///
    /// - Parameter limit: The limit on the body.
    static func begin(_ lookup: CacheLookup, _ immediate: ImmediateCache, limit: ByteLimit) -> Beginning {
        guard let key = lookup.key, lookup.request.method == .get, lookup.request.body == nil else { return .waiting }
        let (cache, now) = (immediate.cache, immediate.cache.now)
        let entries = lookup.mayBeAnswered ? lookup.usable(immediate.storage.entriesAtOnce(for: key)) : []
        switch lookup.decision(about: entries, at: now) {
        case .use(let use):
            guard let answer = lookup.answer(entries[use.index], use, limit: limit) else { return .waiting }
            return .stored(answer)
        case .forward(let reason, validating: nil) where reason == .uriMiss || reason == .bypass:
            // Another request may have stored more of a part meanwhile, or what a condition confirms.
            guard immediate.stores != nil, !lookup.fields.isConditional, !lookup.fields.presence.contains(.range) else {
                return .waiting
            }
            guard lookup.isLikeOthers else {
                return .sending(DirectCacheTurn(lookup, immediate, reason, cache.exchanges.begin(key), now))
            }
            guard case .leader(let ticket) = cache.exchanges.join(key, variant: nil) else { return .waiting }
            return .sending(DirectCacheTurn(lookup, immediate, reason, ticket, now))
        case .forward, .unsatisfiable: return .waiting
        }
    }

    /// Returns the readers of the response: those of the call, and the cache itself while equal requests may wait.
    func readers(_ conditions: ReadingConditions?) -> (any HeadValidator)? {
        guard ticket.isLeading else { return conditions }
        guard let conditions else { return self }
        return CacheHeadReader(lead, conditions)
    }

    private var lead: CacheLead { CacheLead(lookup: lookup, cache: cache, ticket: ticket, start: start) }

    func refuses(_ head: ResponseHead, of request: Request) -> Bool { false }

    func didReceive(_ head: ResponseHead) { if ticket.isLeading { lead.endWaitIfUnstorable(head) } }

    /// Handles the response: stores it if that is allowed. Returns the response with its status and with the body for the caller.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/contentCoding`` or ``TrellisError/Kind/bodyTooLarge`` if the body cannot be
    ///   decoded.
    func received(
        _ body: Data, _ response: Response, to prepared: PreparedRequest, _ observer: CallObserver?
    ) throws(TrellisError) -> (Data, Response) {
        var status = CacheStatus(reason)
        status.key = lookup.key?.url
        let head = StoredHead(response, start: start, cache)
        let decoded: Data
        var response = response
        do {
            let isUnwanted = response.isBodyCut || prepared.isFollowed(response.head)
            decoded = try isUnwanted ? body : self.decoded(body, head, prepared.maximumBodySize)
        } catch let error
            where error.kind == .bodyTooLarge && prepared.history?.mayContinue(after: response.head) == true
        {
            decoded = Data()
            response = response.with(.tooLarge(limit: prepared.maximumBodySize.bytes))
        } catch {
            // A body whose content coding is not valid is not stored.
            end(.notStored)
            var failure = error
            (failure.method, failure.metrics) = (lookup.request.method, response.metrics)
            failure.url = URLRedaction.redact(lookup.url.text)
            throw failure
        }
        let isKept = response.isBodyCut ? false : keep(head, body, &status, observer)
        if !isKept {
            ticket.settle(.notStored)
            removeReplaced(by: head)
        }
        end(.left)
        cache.record(status)
        observer?.tell(.cacheUsed(status))
        return (decoded, response.adding(status))
    }

    /// Handles the failure of the request: each of the requests that wait sends its own, unless this one was cancelled.
    func failed() { end(Task.isCancelled ? .left : .notStored) }

    /// Ends the passage, unless it has ended. The exchange may retain it for longer, as the reader of its head.
    private func end(_ outcome: CacheFlight.Outcome) { ticket.end(storing: nil)?.settle(outcome) }

    private func decoded(_ body: Data, _ head: StoredHead, _ limit: ByteLimit) throws(TrellisError) -> Data {
        guard lookup.decodes, !body.isEmpty, head.mayBeCoded, let coded = try CodedBody(head.deciding) else {
            return body
        }
        return try coded.decoded(body, limit: limit.bytes)
    }

    /// Stores a response if that is allowed. Returns whether it is, even if the storage fails.
    private func keep(
        _ received: StoredHead, _ body: Data, _ status: inout CacheStatus, _ observer: CallObserver?
    ) -> Bool {
        if let refusal = lookup.refusal(of: received) {
            status.detail = refusal.detail
            return false
        }
        guard immediate.stores == true else {
            status.detail = "handler"
            return false
        }
        var head = CachedHead(received, request: lookup.fields.headers)
        let facts = head.judge(cache.policy)
        if case .refused(let reason) = lookup.storability(of: facts, method: .get) {
            status.detail = reason.token
            return false
        }
        status.secondsToLive = facts.timeToLive(at: received.responseTime)
        store(head, body, &status, observer)
        return true
    }

    private func store(
        _ head: CachedHead, _ body: Data, _ status: inout CacheStatus, _ observer: CallObserver?
    ) {
        let variant = head.variant
        guard ticket.mayStore(variant) else {
            status.detail = "storage"
            ticket.settle(.notStored)
            return
        }
        let entry: CacheEntry
        do {
            entry = try immediate.storage.storeAtOnce(head, body, for: ticket.key)
        } catch {
            if cache.recordFailure(error) { observer?.tell(.cacheFailed(error)) }
            status.detail = "storage"
            ticket.settle(.notStored)
            return
        }
        let ended = ticket.end(storing: variant)
        // The entry may have become visible just after an invalidation has removed the others, or in place of a newer one.
        guard ended?.isLatest != false else {
            immediate.storage.removeAtOnce(entry, for: ticket.key)
            status.detail = "storage"
            ended?.settle(.left)
            return
        }
        status.isStored = true
        cache.recordStoring()
        ended?.settle(.stored)
    }

    private func removeReplaced(by received: StoredHead) {
        guard lookup.replacesStored(received), ticket.isValid else { return }
        for entry in lookup.matching(lookup.usable(immediate.storage.entriesAtOnce(for: ticket.key))) {
            immediate.storage.removeAtOnce(entry, for: ticket.key)
        }
    }
}
