import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// One request on its way through a cache.
struct CacheTransaction {
    let pipeline: Pipeline
    let cache: HTTPCache
    /// The request with the cookies of the session, as the cache sees it.
    let lookup: CacheLookup
    /// The request without the cookies.
    let asked: Request

    var request: Request { lookup.request }
    var url: WireURL { lookup.url }
    var headers: HTTPFields { lookup.fields.headers }
    var decodes: Bool { lookup.decodes }
    var key: CacheKey? { lookup.key }
    var storage: any CacheStorage { cache.storage }

    /// The number of stored responses that a request finds to be unreadable, after which no other one is tried.
    private static let maximumDropCount = 8

    /// The error of a stored body that cannot be read or decoded.
    struct Unreadable: Error {
        let underlying: any Error
    }

    init(_ request: Request, asked: Request, in cache: HTTPCache, of pipeline: Pipeline) throws {
        (self.pipeline, self.cache, self.asked) = (pipeline, cache, asked)
        lookup = try CacheLookup(
            request, asked: asked, in: cache, pipeline.session.preparation, hasLeft: pipeline.context.hasLeftOrigin)
    }

    /// Returns the response to the request from the storage or from the server.
    @inline(never)
    func answer() async throws -> StepResponse {
        let answer = try await cache.shared == nil ? run() : runInVisit()
        if answer.sent === lookup { pipeline.last.note(lookup) }
        if let status = answer.response.cacheStatus { record(status) }
        return answer
    }

    private func record(_ status: CacheStatus) {
        cache.record(status)
        pipeline.tell { .cacheUsed(status) }
        pipeline.call.exchangeObserver?.didUseCache(status, for: request, context: pipeline.context)
    }

    /// Returns the response as ``run()`` does. All waits of the request for the storage count together.
    private func runInVisit() async throws -> StepResponse {
        try await StorageVisit.$current.withValue(StorageVisit()) { try await run() }
    }

    /// Returns the response to the request: a stored one, or the server's.
    private func run() async throws -> StepResponse {
        // The response to a request with a body is for that body (RFC 9110, section 9.3.1).
        guard let key, request.body == nil || request.method != .get else {
            if lookup.mustNotBeSent { return unsatisfiable }
            return try await forwarded(.bypass)
        }
        // A hedge must not wait for the slow attempt that it is to overtake.
        var waits = Waits(
            isAllowed: lookup.isLikeOthers && pipeline.context.hedges == 0, rest: cache.policy.maximumCoalescedWait)
        // A storage may still have what it was told to remove.
        var dropCount = 0
        while true {
            let isAsked = lookup.mayBeAnswered && dropCount < Self.maximumDropCount
            let entries = isAsked ? await storedEntries(key) : []
            if !isAsked, let shared = cache.shared { try? await waiting { try await shared.beginVisit(for: key) } }
            switch lookup.decision(about: entries, at: cache.now) {
            case .unsatisfiable: return unsatisfiable
            case .use(let use) where use.isValidatedAfterwards && pipeline.context.hasLeftOrigin:
                // The call in the background would not know which fields were removed.
                return try await forwarded(.stale, for: key, validating: use.index, among: entries)
            case .use(let use):
                do {
                    return try await used(entries[use.index], use, collapsed: waits.reason)
                } catch let error as Unreadable {
                    try await drop(entries[use.index], key, because: error)
                    dropCount += 1
                }
            case .forward(.request, let index):
                return try await forwarded(.request, for: key, validating: index, among: entries)
            case .forward(let reason, let index):
                let answer = try await sentOnce(reason, for: key, validating: index, among: entries, waits: &waits)
                if let answer { return answer }
            }
        }
    }

    // MARK: Stored responses

    /// Returns the stored responses to the URL that may answer requests; none if the storage fails.
    func storedEntries(_ key: CacheKey) async -> [CacheEntry] {
        let entries: [CacheEntry]
        do {
            let found: [CacheEntry]? = try await waiting { [cache] in
                try await cache.mayUse(key) ? cache.storage.entries(for: key) : nil
            }
            guard let found else { return [] }
            entries = found
        } catch {
            // A search that was cancelled says nothing about the storage.
            if !Task.isCancelled, cache.recordFailedSearch() { pipeline.tell { .cacheFailed(error) } }
            return []
        }
        cache.recordSearch()
        return usable(entries)
    }

    /// Returns a stored response, and validates it in the background if it is stale.
    private func used(
        _ entry: CacheEntry, _ use: CacheDecision.Use, collapsed reason: CacheStatus.ForwardReason?
    ) async throws -> StepResponse {
        var status = CacheStatus(reason)
        status.isCoalesced = reason != nil
        status.secondsToLive = use.timeToLive
        if use.isValidatedAfterwards {
            status.detail = "stale-while-revalidate"
            validateInBackground(entry)
        }
        return try await response(entry, use, status: status)
    }

    private func validateInBackground(_ entry: CacheEntry) {
        guard let key else { return }
        // The ranges that several requests ask for do not make several validations of the response.
        let variant = VarySelection(of: entry.head.stored.deciding, request: headers)?.text
        guard case .leader(let leader) = cache.exchanges.join(key, variant: variant) else { return }
        let (session, asked, delivery, steps) = (pipeline.session, asked, pipeline.call.delivery, pipeline.steps)
        let validate: @Sendable () -> Void = { [cache] in
            session.validate(asked, for: delivery, steps, in: cache, leading: leader)
        }
        guard cache.shared != nil else { return validate() }
        // The stale response does not wait for the turn.
        Task { [cache] in
            if await cache.hasTurn(leader, variant: variant), await cache.stillHas(entry, for: key) {
                validate()
            } else {
                leader.settle(.left)
            }
        }
    }

    /// Removes a stored response whose body cannot be read.
    func drop(_ entry: CacheEntry, _ key: CacheKey, because error: Unreadable) async throws {
        try Task.checkCancellation()
        note(error.underlying)
        do {
            try await waiting { [storage] in try await storage.remove(entry, for: key) }
        } catch {
            // A server that is away keeps no request from its origin.
            if cache.shared != nil { return }
            throw TrellisError(
                .invalidResponse(.bodyCutShort("the stored body cannot be read")), phase: .receiving, underlying: error)
        }
    }

    /// Counts a failure of the storage, and tells it unless the storage has failed before; does nothing with `nil`.
    func note(_ failure: (any Error)?) {
        if let failure, cache.recordFailure(failure) { pipeline.tell { .cacheFailed(failure) } }
    }

    /// The longest time for which a call waits for an operation of its storage.
    private static let patience = Duration.seconds(5)

    /// Waits for an operation of the storage. A disk may hang: after some seconds, the call goes on without the result.
    ///
    /// - Parameter release: Releases a result that comes after the call has gone on.
    func waiting<Value: Sendable>(
        for operation: @escaping @Sendable () async throws -> Value,
        releasing release: (@Sendable (Value) async -> Void)? = nil
    ) async throws -> Value {
        if cache.memory != nil { return try await operation() }
        let outcome = Locked<Result<Value, any Error>?>(nil)
        // A storage that does not suspend has the result at once.
        let task = Task.immediate {
            let result: Result<Value, any Error>
            do { result = .success(try await operation()) } catch { result = .failure(error) }
            let isLate = outcome.withLock { outcome in
                if outcome != nil { return true }
                outcome = result
                return false
            }
            if isLate, case .success(let value) = result { await release?(value) }
        }
        if outcome.withLock({ $0 == nil }) {
            let clock = pipeline.call.deadline.clock
            await withTaskCancellationHandler {
                _ = await waitForEnd(of: [task], within: Self.patience, on: clock)
            } onCancel: {
                task.cancel()
            }
            task.cancel()
        }
        return try outcome.withLock { outcome in
            let result = outcome ?? .failure(SlowStorage())
            outcome = result
            return result
        }.get()
    }

    /// Removes the stored responses of a key, which are no longer valid. Those that the storage does not remove in time are not used.
    func removeInvalid(_ key: CacheKey) async {
        await remove(key) { [cache] in await cache.removeInvalid(key) }
    }

    /// Removes a stored response that is no longer valid. If the storage does not remove it in time, no response of the key is used.
    func removeInvalid(_ entry: CacheEntry, for key: CacheKey) async {
        await remove(key) { [cache] in await cache.removeInvalid(entry, for: key) }
    }

    private func remove(_ key: CacheKey, _ removal: @escaping @Sendable () async -> (any Error)?) async {
        do {
            note(try await waiting(for: removal))
        } catch {
            cache.invalidKeys.insert(key)
            note(error)
        }
    }

    // MARK: Equal requests

    /// The waits of a request for the responses to equal ones.
    private struct Waits {
        /// Whether the request may wait.
        var isAllowed: Bool
        /// The rest of the limit on all waits together: each of the requests waited for may be cancelled.
        var rest: Duration
        /// The reason why the request would have been sent; `nil` if no wait has ended that may have brought the response.
        var reason: CacheStatus.ForwardReason?
    }

    /// Sends the request, unless an equal one is under way. Returns `nil` after the wait for that.
    ///
    /// - Parameter index: The index of the stored response that is validated; `nil` for none.
    private func sentOnce(
        _ reason: CacheStatus.ForwardReason, for key: CacheKey, validating index: Int?, among entries: [CacheEntry],
        waits: inout Waits
    ) async throws -> StepResponse? {
        guard waits.isAllowed else { return try await forwarded(reason, for: key, validating: index, among: entries) }
        let name = lookup.nameOfEquals(among: entries)
        switch cache.exchanges.join(key, variant: name) {
        case .leader(let leader):
            do {
                if try await hasWaitedForTurn(leader, variant: name, knowing: entries, &waits.rest) {
                    leader.end(storing: nil)?.settle(.left)
                    (waits.reason, waits.isAllowed) = (reason, false)
                    return nil
                }
                return try await forwarded(reason, for: key, validating: index, among: entries, leader: leader)
            } catch {
                // Each of the requests that wait sends its own. The exchange may retain the ticket for longer, as the reader of its head.
                leader.end(storing: nil)?.settle(Task.isCancelled ? .left : .notStored)
                throw error
            }
        case .waiter(let flight):
            switch try await outcome(of: flight, &waits.rest) {
            case .stored: (waits.reason, waits.isAllowed) = (reason, false)
            // Another of those that waited may have the response stored before this one looks again.
            case .left: waits.reason = reason
            case .notStored: waits.isAllowed = false
            }
            return nil
        }
    }

    /// Waits for the end of an equal request.
    ///
    /// - Parameter rest: The longest time for the wait, from which the time that has passed is taken off.
    private func outcome(of flight: CacheFlight, _ rest: inout Duration) async throws -> CacheFlight.Outcome {
        try pipeline.requireTask(for: asked)
        let (context, limit, start) = (pipeline.context, rest, pipeline.context.now)
        guard limit > .zero else { return .notStored }
        defer { rest -= .nanoseconds(context.now.nanoseconds(since: start)) }
        let outcome = try? await context.result(within: limit) { await flight.wait(in: context) ?? .left }
        try Task.checkCancellation()
        return outcome ?? .notStored
    }
}

/// Stored responses that are in memory, which a request gets without waiting.
extension CacheTransaction {
    /// Returns the stored response to the request; `nil` if there is none, if something else has to be done, or if the body is not in
    /// memory, is to be decoded, or is too large: then ``answer()`` finds the response.
    @inline(never)
    func answer(from storage: MemoryCacheStorage) throws -> StepResponse? {
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
        try pipeline.checkEnd()
        let call = pipeline.call
        var status = CacheStatus(nil)
        status.secondsToLive = use.timeToLive
        status.key = key.url
        var metrics = Metrics()
        metrics.callID = call.id
        metrics.totalTime = call.clock.now().nanoseconds(since: call.beginning)
        metrics.attemptCount = pipeline.context.attempt
        metrics.cacheStatus = status
        pipeline.last.note(lookup)
        record(status)
        let response = Response(
            head: head, url: url.text, metrics: consume metrics, redirects: pipeline.context.redirects,
            to: lookup.answered)
        return StepResponse(
            response: response, content: .data(range.isEmpty ? Data() : bytes.bytes(in: range)), to: lookup)
    }

    /// Returns the stored responses that may answer requests. A stored failure is not the response to another attempt.
    func usable(_ entries: [CacheEntry]) -> [CacheEntry] {
        let usable = lookup.usable(entries)
        return pipeline.context.attempt > 1 ? usable.filter { $0.head.stored.status < 400 } : usable
    }
}
