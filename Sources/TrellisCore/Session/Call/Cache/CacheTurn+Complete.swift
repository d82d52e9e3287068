import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The completion of stored parts.
extension CacheTurn {
    /// Requests the bytes that a stored part lacks, and returns the response that has them and the stored ones.
    ///
    /// If the origin has another representation, its complete response is the response. A response that is neither is dropped, and the
    /// request is sent as the caller has made it: no other bytes than those that were asked for are put together.
    ///
    /// - Parameter leader: The ticket of the exchange if others wait for the response; `nil` if none may.
    func completed(
        _ completion: PartCompletion, _ key: CacheKey, _ entries: [CacheEntry], _ leader: CacheTicket?
    ) async throws -> StepResponse {
        let entry = entries[completion.index]
        let ticket = leader ?? cache.exchanges.begin(key)
        let start = cache.now
        let answer = try await send(with: completion.fields)
        let received = head(of: answer, start)
        if let combination = completion.combination(entry.head.stored, received),
            let combined = try await combined(answer, received, entry, combination, ticket)
        {
            return combined
        }
        guard received.isAboutPart else { return try await kept(answer, received, .partial, ticket) }
        await answer.discard(pipeline.context)
        let second = cache.now
        let whole = try await send(with: HTTPFields())
        return try await kept(whole, head(of: whole, second), .partial, ticket)
    }

    /// Requests the bytes before a stored part that lacks some at both ends, and stores them with it. Returns the response of the origin if
    /// that has another representation; `nil` if the decision about the request is made again, with the part as it is stored then.
    func filled(
        _ completion: PartCompletion, _ key: CacheKey, _ entries: [CacheEntry]
    ) async throws -> StepResponse? {
        let entry = entries[completion.index]
        let ticket = cache.exchanges.begin(key)
        let start = cache.now
        let answer = try await send(with: completion.fields)
        let received = head(of: answer, start)
        if let combination = completion.combination(entry.head.stored, received), let data = answer.data,
            !answer.response.isBodyCut, data.count == combination.received.count
        {
            var status = CacheStatus(.partial)
            let head = combination.head(entry.head.stored, received, cache.policy)
            let use = CacheDecision.Use(index: 0, age: 0, timeToLive: 0)
            let recording = await recording(of: head, received, entry, combination, use, ticket, &status)
            await recording?.write(data)
            await recording?.commit()
            return nil
        }
        guard received.isAboutPart else { return try await kept(answer, received, .partial, ticket) }
        await answer.discard(pipeline.context)
        return nil
    }

    /// Returns the response from a stored part and the received bytes that it lacked, and stores both as one if that is allowed; `nil` if
    /// the received bytes are not as many as they should be, or the stored ones cannot be read.
    private func combined(
        _ answer: StepResponse, _ received: StoredHead, _ entry: CacheEntry, _ combination: PartCombination,
        _ ticket: CacheTicket
    ) async throws -> StepResponse? {
        let data = answer.data
        guard !answer.response.isBodyCut, data.map({ $0.count == combination.received.count }) ?? true else {
            return nil
        }
        let head = combination.head(entry.head.stored, received, cache.policy)
        let body = CombinedBody(stored: entry.body, received: data ?? Data(), combination: combination)
        let whole = CacheEntry(id: entry.id, head: CachedHead(head, request: headers), body: body)
        let usability = CacheUsability(whole.facts(cache.policy), CacheDirectives(), .forceCache, at: cache.now)
        guard let use = lookup.use(whole, usability) else { return nil }
        var status = CacheStatus(.partial)
        if use.range == nil { status.forwardCode = received.status }
        let recording = await recording(of: head, received, entry, combination, use, ticket, &status)
        if recording == nil { ticket.settle(.notStored) }
        guard data != nil else {
            return try streamed(answer, received, recording, entry, whole, combination, use, named(status))
        }
        return try await collected(answer, received, recording, entry, whole, use, status)
    }

    /// Begins to store a stored part and the received one as one response; `nil` if that is not stored.
    ///
    /// - Parameter head: The head of both parts together.
    private func recording(
        of head: StoredHead, _ received: StoredHead, _ entry: CacheEntry, _ combination: PartCombination,
        _ use: CacheDecision.Use, _ ticket: CacheTicket, _ status: inout CacheStatus
    ) async -> CacheRecording? {
        var recording: CacheRecording?
        if let prohibition = lookup.prohibition(of: received) {
            status.detail = prohibition.token
        } else {
            // A long part is not copied for each short one that the caller asks for.
            guard use.range == nil || combination.isWorthCopying else { return nil }
            recording = await self.recording(of: head, ticket, &status, within: storedFrame(of: entry, combination))
        }
        // The part that is stored stays if there is no room for both.
        guard recording == nil, status.detail != "storage" else { return recording }
        var replacing = received
        replacing.status = head.status
        replacing.headers[.contentRange] = head.headers[.contentRange]
        await removeReplaced(by: replacing, ticket)
        return nil
    }

    /// Returns the stored bytes that are stored with received ones. If they cannot be read, their entry is removed.
    func storedFrame(of entry: CacheEntry, _ combination: PartCombination) -> StoredFrame {
        let (storage, key) = (storage, key)
        return StoredFrame(entry.body, combination) {
            if let key { try? await storage.remove(entry, for: key) }
        }
    }

    /// Returns the response whose bytes are all there.
    private func collected(
        _ answer: StepResponse, _ received: StoredHead, _ recording: CacheRecording?, _ entry: CacheEntry,
        _ whole: CacheEntry, _ use: CacheDecision.Use, _ status: CacheStatus
    ) async throws -> StepResponse? {
        let made: StepResponse
        do {
            made = try await response(whole, use, status, after: received)
        } catch let error as Unreadable {
            recording?.discard()
            if let key { try await drop(entry, key, because: error) }
            return nil
        }
        if let data = answer.data { await recording?.write(data) }
        await recording?.commit()
        var status = status
        if let recording, !recording.isStored {
            status.isStored = false
            status.detail = "storage"
        }
        return made.replacing(answer.response.with(made.response.head).with(named(status)), made.content)
    }

    /// Returns the response whose bytes are received while they are read.
    private func streamed(
        _ answer: StepResponse, _ received: StoredHead, _ recording: CacheRecording?, _ entry: CacheEntry,
        _ whole: CacheEntry, _ combination: PartCombination, _ use: CacheDecision.Use, _ status: CacheStatus
    ) throws -> StepResponse {
        let head = withOwnCookies(lookup.head(whole, use).0, of: received)
        let response = answer.response.with(head).with(status)
        let coded = decodes ? try CodedBody(head.headers) : nil
        let (storage, key, needed) = (storage, key, use.range ?? 0..<combination.total)
        func source(_ range: Range<Int64>) -> CachedBodySource {
            let bytes = combination.stored(range.clamped(to: needed))
            return CachedBodySource(
                entry.body, bytes, nil, response, observer: pipeline.call.observer, limit: .unlimited
            ) {
                if let key { try? await storage.remove(entry, for: key) }
            }
        }
        let surroundings = StoringSource.Surroundings(
            head, before: source(combination.before), receiving: combination.received.count,
            after: source(combination.after))
        let content = StoringSource(
            answer.reader, recording, coded, limit: streamLimit, status, within: surroundings)
        return answer.replacing(response, .source(TransferToken(content)))
    }
}

extension StoredHead {
    /// Whether a response to a request for a part is no response to one for the complete representation.
    fileprivate var isAboutPart: Bool { claimsPart || status == 304 || status == 416 }
}
