import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The storing of responses.
extension CacheTransaction {
    /// Returns the response of the server, and stores it if that is allowed.
    func kept(
        _ answer: StepResponse, _ received: StoredHead, reason: CacheStatus.ForwardReason, ticket: CacheTicket
    ) async throws -> StepResponse {
        var status = CacheStatus(reason)
        if mayInvalidate { await invalidate(after: received, ticket) }
        if received.status == 304 { await freshen(after: received, ticket) }
        let recording = answer.response.isBodyCut ? nil : await recording(of: received, ticket, &status)
        if recording == nil {
            ticket.settle(.notStored)
            await removeReplaced(by: received, ticket)
        }
        return try await delivered(answer, storedBy: recording, status: named(status))
    }

    // MARK: Invalidation

    /// Whether the response may show that stored ones are no longer valid.
    private var mayInvalidate: Bool { request.method == .head || !CacheUpdate.isSafe(request.method) }

    private func invalidate(after received: StoredHead, _ ticket: CacheTicket) async {
        let urls = CacheUpdate.invalidatedURLs(
            after: request.method, to: url, status: received.status, headers: received.headers)
        let partitions =
            urls.isEmpty ? [] : lookup.invalidPartitions(ticket.key, pipeline.session.preparation.routes)
        for url in urls {
            for partition in partitions {
                let key = CacheKey(url: url.canonicalText, partition: partition)
                cache.exchanges.invalidate(key)
                await removeInvalid(key)
            }
        }
        guard request.method == .head, received.status == 200, request.cacheMode != .noStore else { return }
        // The response to a HEAD updates a GET's, or shows that it is no longer valid (RFC 9111, section 4.3.5).
        for entry in await matchingEntries(ticket.key) {
            let stored = entry.head.stored
            if CacheUpdate.isConfirmed(stored, by: received), CacheUpdate.mayReselect(stored, with: received) {
                _ = await update(entry, for: ticket.key, with: received, ticket)
            } else if lookup.isForOthers(received) {
                cache.exchanges.invalidate(ticket.key)
                await removeInvalid(entry, for: ticket.key)
            }
        }
    }

    /// Updates the stored responses that a 304 to a condition of the caller is about (RFC 9111, section 4.3.4).
    private func freshen(after received: StoredHead, _ ticket: CacheTicket) async {
        guard request.method == .get, request.cacheMode != .noStore, lookup.fields.isConditional else { return }
        let entries = await matchingEntries(ticket.key)
        for index in CacheUpdate.indices(of: received.headers, in: entries.map(\.head.stored))
        where CacheUpdate.mayReselect(entries[index].head.stored, with: received) {
            _ = await update(entries[index], for: ticket.key, with: received, ticket)
        }
    }

    /// Removes the stored responses that a newer one replaces, although it is not stored itself.
    func removeReplaced(by received: StoredHead, _ ticket: CacheTicket) async {
        guard lookup.replacesStored(received), ticket.isValid else { return }
        for entry in await matchingEntries(ticket.key) { await removeInvalid(entry, for: ticket.key) }
    }

    private func matchingEntries(_ key: CacheKey) async -> [CacheEntry] {
        lookup.matching(await storedEntries(key))
    }

    // MARK: Storing

    /// Begins to store a response; `nil` if the response is not stored.
    private func recording(
        of received: StoredHead, _ ticket: CacheTicket, _ status: inout CacheStatus
    ) async -> CacheRecording? {
        if let refusal = lookup.refusal(of: received) {
            status.detail = refusal.detail
            return nil
        }
        var head = CachedHead(received, request: headers)
        if pipeline.attached.kinds.contains(.storingHandler), let handler = pipeline.steps.cachedResponseHandler {
            guard let changed = await handler.headToStore(head, of: request) else {
                status.detail = "handler"
                return nil
            }
            head = CachedHead(changed.stored, request: headers)
        }
        let facts = head.judge(cache.rules)
        if case .refused(let reason) = lookup.storability(of: facts, method: request.method) {
            status.detail = reason.token
            return nil
        }
        if received.status == 206, await isPartUnneeded(head, ticket) { return nil }
        // The exchange of a POST began before its own invalidation of the URL.
        let ticket = request.method == .post ? cache.exchanges.begin(ticket.key) : ticket
        // A response that held its call, which holds the response, would never be released, nor end its transfer when it is dropped.
        let (observer, attempt) = (pipeline.call.observer, pipeline.context.attempt)
        do {
            let (storage, key, length, changed) = (storage, ticket.key, received.length, head)
            let writer = try await waiting {
                try await storage.makeWriter(for: key, changed, length: length)
            } releasing: {
                await $0.discard()
            }
            status.isStored = true
            status.secondsToLive = facts.timeToLive(at: cache.now)
            return CacheRecording(writer, head, ticket: ticket, in: cache, deadline: deadlineOfReader) { error in
                observer?.tell(.cacheFailed(error), attempt: attempt)
            }
        } catch {
            note(error)
            status.detail = "storage"
            return nil
        }
    }

    /// The deadline at which a reader stops waiting for the storage. For a call in memory, it cancels the call's task.
    private var deadlineOfReader: CallDeadline {
        let deadline = pipeline.call.deadline
        guard pipeline.call.delivery == .memory else { return deadline }
        return CallDeadline(start: deadline.start, limit: nil, clock: deadline.clock)
    }

    /// Returns whether a part of a representation need not be stored, because its length is not known, or the complete representation or
    /// a longer part of it is stored, which it would replace.
    private func isPartUnneeded(_ head: CachedHead, _ ticket: CacheTicket) async -> Bool {
        guard let part = head.part else { return true }
        return await matchingEntries(ticket.key).contains { entry in
            if let stored = entry.head.part {
                return stored.total == part.total && stored.range.count > part.range.count
                    && entry.head.stored.strongValidator.map { $0 == head.stored.strongValidator } ?? false
            }
            return entry.head.status == .ok
                && entry.head.stored.entityTag.map { head.stored.entityTag?.hasSameBytes(as: $0) ?? false } ?? false
        }
    }

    /// Returns the response with the body for the caller, which is stored as it is read.
    private func delivered(
        _ answer: StepResponse, storedBy recording: CacheRecording?, status: CacheStatus
    ) async throws -> StepResponse {
        switch answer.content {
        case .data(let body):
            // The readers get the beginning alone, or the call continues.
            if answer.response.isBodyCut { return answer.replacing(answer.response.with(status), .data(body)) }
            let isUnwanted = body.isEmpty || isFollowed(answer.response.head)
            let coded = decodes && !isUnwanted ? try CodedBody(answer.response.headers) : nil
            guard let decoded = try decoded(body, coded, head: answer.response.head) else {
                recording?.discard()
                recording?.release(.notStored)
                var status = status
                status.isStored = false
                let cut = answer.response.with(.tooLarge(limit: bodyLimit.bytes)).with(status)
                return answer.replacing(cut, .data(Data()))
            }
            if !body.isEmpty { await recording?.write(body) }
            await recording?.commit()
            var status = status
            if let recording, !recording.isStored {
                status.isStored = false
                status.detail = "storage"
            }
            return answer.replacing(answer.response.with(status), .data(decoded))
        case .source(let token):
            let hasBody = request.method != .head && ![204, 304].contains(answer.response.status.code)
            let coded = decodes && hasBody ? try CodedBody(answer.response.headers) : nil
            let source = StoringSource(token, recording, coded: coded, limit: streamLimit, status: status)
            return answer.replacing(answer.response.with(status), .source(TransferToken(source)))
        }
    }

    /// Returns the decoded body; `nil` if it exceeds the limit, and the call may continue after the response.
    private func decoded(_ body: Data, _ coded: CodedBody?, head: ResponseHead) throws(TrellisError) -> Data? {
        guard let coded else { return body }
        do throws(TrellisError) {
            return try coded.decoded(body, limit: bodyLimit.bytes)
        } catch {
            guard error.kind == .bodyTooLarge, mayContinue(after: head) else { throw error }
            return nil
        }
    }
}
