import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// Requests that are sent although there is a cache.
extension CacheTransaction {
    /// Sends a request that the cache has nothing to do with.
    func forwarded(_ reason: CacheStatus.ForwardReason) async throws -> StepResponse {
        let answer = try await pipeline.exchangeForCache(request)
        return answer.replacing(answer.response.with(named(CacheStatus(reason))), answer.content)
    }

    /// Sends the request, and returns its response, or the stored one that it confirms.
    ///
    /// - Parameters:
    ///   - index: The index of the stored response that is validated; `nil` for none.
    ///   - leader: The ticket of the exchange if others wait for the response; `nil` if none may.
    func forwarded(
        _ reason: CacheStatus.ForwardReason, for key: CacheKey, validating index: Int?, among entries: [CacheEntry],
        leader: CacheTicket? = nil
    ) async throws -> StepResponse {
        let conditions = index.map { self.conditions(for: entries[$0].head.stored) } ?? HTTPFields()
        let ticket = leader ?? cache.exchanges.begin(key)
        let start = cache.now
        let answer: StepResponse
        do {
            answer = try await send(with: conditions, ticket)
        } catch {
            guard (error as? TrellisError)?.isTransient == true,
                let stale = try await staleResponse(
                    among: entries, reason: reason, failure: nil,
                    exchange: (error as? TrellisError)?.metrics ?? Metrics())
            else { throw error }
            // The requests that wait do not follow one after the other into the same failure.
            ticket.settle(.notStored)
            return stale
        }
        let received = StoredHead(answer.response, start: start, cache)
        if [500, 502, 503, 504].contains(received.status),
            let stale = try await staleResponse(
                among: entries, reason: reason, failure: received.status, exchange: answer.response.metrics)
        {
            ticket.settle(.notStored)
            await answer.discard(pipeline.context)
            return stale
        }
        guard received.status == 304, !conditions.isEmpty else {
            return try await kept(answer, received, reason: reason, ticket: ticket)
        }
        if let validated = try await validated(
            by: received, exchange: answer.response.metrics, among: entries, index: index, reason: reason,
            ticket: ticket)
        {
            await answer.discard(pipeline.context)
            ticket.settle(.stored)
            return validated
        }
        // The response is about none that is stored, which the caller could not use.
        await answer.discard(pipeline.context)
        let second = cache.now
        let whole = try await send(with: HTTPFields())
        return try await kept(
            whole, StoredHead(whole.response, start: second, cache), reason: reason, ticket: ticket)
    }

    /// Returns the conditions for the validation of a stored response; none if the request has conditions of its own.
    private func conditions(for head: StoredHead) -> HTTPFields {
        lookup.fields.isConditional ? HTTPFields() : CacheUpdate.conditions(for: head)
    }

    /// Sends the request with some fields, which replace others with the same names. Its response has the body as it was received, in
    /// its content coding.
    ///
    /// - Parameter ticket: The ticket of the exchange if equal requests need not wait for the end of a response that is not stored.
    func send(with fields: HTTPFields, _ ticket: CacheTicket? = nil) async throws -> StepResponse {
        var sent = request
        if decodes { sent.keepsCoding = true }
        for field in fields { sent.headers[field.name] = field.value }
        // A handler may make any response storable, and the head of a stream is handled before its body anyway.
        guard let ticket, ticket.isLeading, pipeline.call.delivery == .memory,
            !pipeline.attached.kinds.contains(.storingHandler)
        else { return try await pipeline.exchangeForCache(sent) }
        let lead = CacheLead(lookup: lookup, cache: cache, ticket: ticket, start: cache.now)
        return try await Pipeline(pipeline) { lead.endWaitIfUnstorable($0) }.exchangeForCache(sent)
    }

    /// Returns the stored response that a 304 has confirmed; `nil` if the 304 is about none that is stored, or the body cannot be read.
    ///
    /// - Parameters:
    ///   - exchange: The metrics of the exchange that has brought the 304.
    ///   - index: The index of the stored response whose validators were sent.
    private func validated(
        by received: StoredHead, exchange: Metrics, among entries: [CacheEntry], index: Int?,
        reason: CacheStatus.ForwardReason, ticket: CacheTicket
    ) async throws -> StepResponse? {
        let (matching, key) = (lookup.matching(entries), ticket.key)
        let asked = index.flatMap { index in matching.firstIndex { $0.id == entries[index].id } }
        let confirmed = CacheUpdate.indices(of: received.headers, in: matching.map(\.head.stored), asked: asked)
        guard let last = confirmed.last else { return nil }
        let chosen = confirmed.first { $0 == asked } ?? last
        for index in confirmed where index != chosen {
            _ = await update(matching[index], for: key, with: received, ticket)
        }
        let old = matching[chosen]
        let (head, isStored) = await update(old, for: key, with: received, ticket)
        let entry = CacheEntry(id: old.id, head: head, body: old.body)
        let usability = CacheUsability(
            of: entry.facts(cache.rules), for: CacheDirectives(), mode: .forceCache, at: cache.now)
        guard let use = lookup.use(entry, usability) else { return nil }
        var status = CacheStatus(reason)
        status.forwardCode = 304
        status.secondsToLive = usability.timeToLive
        status.isStored = isStored
        do {
            return try await response(entry, use, status: status, after: received, exchange: exchange)
        } catch is Unreadable {
            // A read that was cancelled says nothing about the bytes.
            try Task.checkCancellation()
            try? await waiting { [storage] in try await storage.remove(entry, for: key) }
            return nil
        }
    }

    /// Updates a stored head with a 304's or with the head of the response to a `HEAD`, and removes the response if it may no longer be
    /// stored. Returns the updated head, and whether the response is still stored.
    func update(
        _ entry: CacheEntry, for key: CacheKey, with received: StoredHead, _ ticket: CacheTicket
    ) async -> (CachedHead, isStored: Bool) {
        let updated = CacheUpdate.updated(entry.head.stored, with: received, cache.policy)
        var head = CachedHead(updated, request: headers)
        if let changed = await pipeline.steps.cachedResponseHandler?.headToStore(head, of: request) {
            head = CachedHead(changed.stored, request: headers)
        }
        guard ticket.isValid else { return (head, false) }
        switch lookup.storability(of: head.judge(cache.rules), method: .get) {
        case .storable: break
        // The stored response is also that to other requests, which this one does not decide about.
        case .refused(.requestNoStore), .refused(.authorization): return (head, false)
        case .refused:
            await removeInvalid(entry, for: key)
            return (head, false)
        }
        do {
            try await waiting { [storage, head] in try await storage.update(entry, for: key, to: head) }
        } catch {
            // The old head is validated again.
            note(error)
        }
        // A removal has come meanwhile, or the session has ended without waiting for the storage.
        guard ticket.isValid else {
            await removeInvalid(key)
            return (head, false)
        }
        return (head, true)
    }

    /// Returns a stale stored response instead of a failure (RFC 5861, section 4; RFC 9111, section 4.2.4); `nil` if that is not allowed.
    ///
    /// - Parameters:
    ///   - failure: The status of the response that is the failure; `nil` if there was none.
    ///   - exchange: The metrics of the exchange that has failed.
    private func staleResponse(
        among entries: [CacheEntry], reason: CacheStatus.ForwardReason, failure: Int?, exchange: Metrics
    ) async throws -> StepResponse? {
        if Task.isCancelled || lookup.fields.presence.contains(.ifUnchanged) { return nil }
        guard let entry = lookup.latest(of: lookup.matching(entries)),
            let usability = CacheUsability(
                ifError: entry.facts(cache.rules), for: lookup.fields.directives, mode: request.cacheMode,
                isUnreachable: failure == nil, at: cache.now),
            let use = lookup.use(entry, usability)
        else { return nil }
        var status = CacheStatus(reason)
        status.forwardCode = failure
        status.secondsToLive = usability.timeToLive
        status.detail = usability.isAllowedByDirective ? "stale-if-error" : "unreachable"
        status.isStaleIfError = true
        do {
            return try await response(entry, use, status: status, exchange: exchange)
        } catch is Unreadable { return nil }
    }
}

/// An exchange for whose response equal requests wait.
struct CacheLead: Sendable {
    let lookup: CacheLookup
    let cache: HTTPCache
    let ticket: CacheTicket
    /// The instant at which the exchange began.
    let start: CacheTime

    /// Ends the wait of the equal requests if the head of the response shows that the response is not going to be stored: each of them is
    /// sent then, while the body of this response arrives.
    ///
    /// A wait that does not end here ends with the body.
    func endWaitIfUnstorable(_ head: ResponseHead) {
        guard !Self.isUndecided(head.status), !Self.hasShortBody(head) else { return }
        // The present instant would be asked of the user's code, which does not run on an engine thread.
        let received = StoredHead(
            head, requestTime: start, responseTime: start, cacheHeaderLengths: cache.cacheHeaderLengths)
        if lookup.refusal(of: received) == nil {
            var stored = CachedHead(received, request: lookup.fields.headers)
            if case .storable = lookup.storability(of: stored.judge(cache.rules), method: lookup.request.method) {
                return
            }
        }
        ticket.settle(.notStored)
    }

    /// Returns whether a response with a status need not be the response to the request: a 304 is about a stored one, instead of a failure
    /// a stored one may be used, and after a 407 or a 421 the request may be sent again.
    static func isUndecided(_ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 304, 407, 421, 500...: true
        default: false
        }
    }

    private static let contentLengthName = Array("content-length".utf8)

    /// Returns whether the end of a body is likely to come with its head. The response is handled at its end anyway.
    private static func hasShortBody(_ head: ResponseHead) -> Bool {
        let length =
            if let fields = head.wireFields {
                fields.firstValueLength(of: contentLengthName)
            } else {
                head.headers[.contentLength]?.utf8.count
            }
        return length.map { $0 <= 4 } ?? false
    }
}
