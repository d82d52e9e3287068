import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The cache of an exchange: a stored response in place of the exchange, or the exchange, whose response may be stored.
extension Pipeline {
    /// Returns the response to a request from the cache or from the server.
    @inline(never)
    func exchangeWithCache(_ request: Request, _ cache: HTTPCache) async throws -> StepResponse {
        try await CacheTurn(pipeline: self, cache: cache, request: request).run()
    }
}

/// The passage of one request through a cache.
private struct CacheTurn {
    let pipeline: Pipeline
    let cache: HTTPCache
    let request: Request
    /// The URL without its fragment.
    let url: WireURL
    /// The fields as they are to be sent.
    let headers: HTTPFields
    /// Indicates whether content codings are removed from the body for the caller.
    let decodes: Bool

    private var storage: any CacheStorage { cache.storage }
    private var key: String { url.text }

    init(pipeline: Pipeline, cache: HTTPCache, request: Request) throws {
        self.pipeline = pipeline
        self.cache = cache
        self.request = request
        let preparation = pipeline.session.preparation
        url = try preparation.parse(request.url)
        headers = try preparation.fields(of: request, url, hasLeft: pipeline.context.hasLeftOrigin)
        decodes = request.decodesContent ?? preparation.configuration.decodesContent
    }

    func run() async throws -> StepResponse {
        // The response to a request with a body is for that body (RFC 9110, section 9.3.1).
        guard request.body == nil || request.method != .get else {
            return try await forwarded(.bypass, validating: nil, [])
        }
        let entries = asked.mayBeAnswered ? await storedEntries() : []
        let now = cache.now
        switch CacheDecision.decision(for: asked, entries.compactMap(Self.candidate), at: now, cache.policy) {
        case .use(let use) where use.isValidatedAfterwards:
            return try await forwarded(.stale, validating: use.index, entries)
        case .use(let use):
            if use.range != nil, decodes, !CodedBody.codings(entries[use.index].head.headers).isEmpty {
                return try await forwarded(.request, validating: nil, entries)
            }
            var status = CacheStatus(nil)
            status.timeToLive = use.timeToLive
            return try await response(entries[use.index], use, status)
        case .forward(let reason, let index): return try await forwarded(reason, validating: index, entries)
        case .unsatisfiable: return unsatisfiable
        }
    }

    /// Returns the stored responses to the URL that may answer requests.
    private func storedEntries() async -> [CacheEntry] {
        let entries = try? await storage.entries(for: key)
        return entries?.filter { $0.head.selection != nil } ?? []
    }

    private static func candidate(_ entry: CacheEntry) -> CacheDecision.Candidate? {
        entry.head.selection.map { selection in
            CacheDecision.Candidate(head: entry.head.stored, selection: selection, length: entry.body.length)
        }
    }

    /// Returns the part of a stored response that the request asks for; `nil` for the complete one.
    private func range(of entry: CacheEntry) -> Range<Int64>? {
        Self.candidate(entry)?.range(for: asked)?.bytes(of: entry.body.length)
    }

    private var unsatisfiable: StepResponse {
        let head = ResponseHead(status: .gatewayTimeout, headers: HTTPFields())
        let response = Response(head: head, url: request.url, metrics: metrics(.unsatisfiable))
        return StepResponse(response: response, body: Data())
    }

    // MARK: Stored responses

    /// Returns a stored response as the response to the request.
    private func response(
        _ entry: CacheEntry, _ use: CacheDecision.Use, _ status: CacheStatus
    ) async throws -> StepResponse {
        var headers = entry.head.headers
        headers[values: .age] = ["\(use.age)"]
        var code = entry.head.status
        var range = use.range
        if use.isNotModified {
            code = .notModified
            headers = headers.filter { Self.isKeptWhenNotModified($0.name) }
            range = 0..<0
        } else if let part = range {
            code = .partialContent
            let length = part.upperBound - part.lowerBound
            headers[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(entry.body.length)"
            headers[.contentLength] = "\(length)"
        }
        if request.method == .head { range = 0..<0 }
        let response = Response(
            head: ResponseHead(status: code, headers: headers), url: url.text, metrics: metrics(status),
            redirects: pipeline.context.redirects)
        let bytes = range ?? 0..<entry.body.length
        let coded = decodes && !bytes.isEmpty ? try CodedBody(headers) : nil
        guard pipeline.call.delivery == .memory else {
            let source = CachedBodySource(entry.body, bytes, coded, response)
            return StepResponse(response: response, content: .source(TransferToken(source)))
        }
        let limit = bodyLimit
        guard bytes.count <= limit || coded != nil else { throw tooLarge(limit) }
        let body = bytes.isEmpty ? Data() : try await entry.body.bytes(in: bytes)
        return StepResponse(response: response, body: try coded?.decoded(body, limit: limit) ?? body)
    }

    /// Returns whether a 304 has a field of the response that it stands for (RFC 9110, section 15.4.5).
    private static func isKeptWhenNotModified(_ name: HTTPField.Name) -> Bool {
        switch name {
        case .cacheControl, .contentLocation, .date, .eTag, .expires, .vary, .lastModified, .age: true
        default: false
        }
    }

    /// The limit on the body in memory.
    private var bodyLimit: Int {
        (request.maximumBodySize ?? pipeline.session.configuration.maximumBodySize).bytes
    }

    private func tooLarge(_ limit: Int) -> TrellisError {
        TrellisError(.invalidResponse(.bodyTooLarge(limit: limit)), phase: .receiving)
    }

    private func metrics(_ status: CacheStatus) -> Metrics {
        var metrics = Metrics()
        metrics.callID = pipeline.call.id
        metrics.total = pipeline.elapsed
        metrics.attemptCount = pipeline.context.attempt
        metrics.cacheStatus = status
        return metrics
    }

    // MARK: Requests

    private func forwarded(
        _ reason: CacheStatus.ForwardReason, validating index: Int?, _ entries: [CacheEntry]
    ) async throws -> StepResponse {
        let conditions = index.map { self.conditions(for: entries[$0].head.stored) } ?? HTTPFields()
        let start = cache.now
        let answer: StepResponse
        do {
            answer = try await send(adding: conditions)
        } catch {
            guard let index, (error as? TrellisError)?.isTransient == true,
                let stale = try await staleResponse(entries[index], reason, nil)
            else { throw error }
            return stale
        }
        let received = StoredHead(
            status: answer.response.status.code, headers: ConnectionFields.removed(from: answer.response.headers),
            requestTime: start, responseTime: cache.now)
        if [500, 502, 503, 504].contains(received.status), let index,
            let stale = try await staleResponse(entries[index], reason, received.status)
        {
            await answer.discard(pipeline.context)
            return stale
        }
        if received.status == 304, !conditions.isEmpty {
            if let validated = try await validated(received, entries, reason) { return validated }
            // The response is about none that is stored, which the caller could not use.
            let answer = try await send(adding: HTTPFields())
            return try await kept(answer, reason, start)
        }
        return try await kept(answer, reason, start)
    }

    /// Returns the conditions for the validation of a stored response; none if the request has conditions of its own.
    private func conditions(for head: StoredHead) -> HTTPFields {
        let names: [HTTPField.Name] = [.ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince, .ifRange]
        return names.contains(where: headers.contains) ? HTTPFields() : CacheUpdate.conditions(for: head)
    }

    /// Sends the request. Its response has the body as it was received, in its content coding.
    private func send(adding conditions: HTTPFields) async throws -> StepResponse {
        var sent = request
        if decodes {
            if let coding = headers[.acceptEncoding] { sent.headers[.acceptEncoding] = coding }
            sent.decodesContent = false
        }
        for field in conditions { sent.headers.append(field) }
        return try await pipeline.exchangeForCache(sent)
    }

    /// Returns the stored response that a 304 has confirmed; `nil` if the 304 is about none that is stored.
    private func validated(
        _ received: StoredHead, _ entries: [CacheEntry], _ reason: CacheStatus.ForwardReason
    ) async throws -> StepResponse? {
        let matching = entries.filter { $0.head.selection?.matches(headers) ?? false }
        guard let index = CacheUpdate.index(of: received.headers, in: matching.map(\.head.stored)) else { return nil }
        let old = matching[index]
        let head = CachedHead(CacheUpdate.updated(old.head.stored, with: received), request: headers)
        let entry = CacheEntry(id: old.id, head: head, body: old.body)
        // A failure leaves the old head, which is validated again.
        try? await storage.update(old, for: key, to: head)
        let usability = CacheUsability(head.stored, CacheDirectives(), .forceCache, at: cache.now, cache.policy)
        var status = CacheStatus(reason)
        status.forwardStatus = 304
        status.timeToLive = usability.timeToLive
        status.isStored = true
        let use = CacheDecision.Use(
            index: 0, age: usability.age, timeToLive: usability.timeToLive,
            range: self.range(of: entry))
        return try await response(entry, use, status)
    }

    private var asked: CacheDecision.Request {
        CacheDecision.Request(method: request.method, headers: headers, mode: request.cacheMode)
    }

    /// Returns a stale stored response in place of a failure (RFC 5861, section 4); `nil` if that is not allowed.
    private func staleResponse(
        _ entry: CacheEntry, _ reason: CacheStatus.ForwardReason, _ failure: Int?
    ) async throws -> StepResponse? {
        if Task.isCancelled { return nil }
        guard
            let usability = CacheUsability(
                ifError: entry.head.stored, CacheDirectives(request: headers), at: cache.now, cache.policy)
        else { return nil }
        var status = CacheStatus(reason)
        status.forwardStatus = failure
        status.timeToLive = usability.timeToLive
        status.detail = "stale-if-error"
        let use = CacheDecision.Use(
            index: 0, age: usability.age, timeToLive: usability.timeToLive,
            range: self.range(of: entry))
        return try await response(entry, use, status)
    }

    // MARK: Storing

    /// Returns the response of the server, and stores it if that is allowed.
    private func kept(
        _ answer: StepResponse, _ reason: CacheStatus.ForwardReason, _ start: CacheTime
    ) async throws -> StepResponse {
        let received = StoredHead(
            status: answer.response.status.code, headers: ConnectionFields.removed(from: answer.response.headers),
            requestTime: start, responseTime: cache.now)
        var status = CacheStatus(reason)
        await invalidate(after: received)
        let writer = await writer(for: received, answer.response, &status)
        if status.isStored {
            let usability = CacheUsability(received, CacheDirectives(), .forceCache, at: cache.now, cache.policy)
            status.timeToLive = usability.timeToLive
        }
        return try await delivered(answer, writer, status)
    }

    private func invalidate(after received: StoredHead) async {
        let urls = CacheUpdate.invalidatedURLs(request.method, url, status: received.status, received.headers)
        for url in urls { try? await storage.removeEntries(for: url.text) }
        guard request.method == .head, received.status == 200 else { return }
        // The response to a HEAD updates that of a GET, or shows that it is no longer valid (RFC 9111, section 4.3.5).
        for entry in await storedEntries() where entry.head.selection?.matches(headers) ?? false {
            guard CacheUpdate.isConfirmed(entry.head.stored, by: received) else {
                try? await storage.removeEntries(for: key)
                return
            }
            let head = CachedHead(CacheUpdate.updated(entry.head.stored, with: received), request: headers)
            try? await storage.update(entry, for: key, to: head)
        }
    }

    /// Returns the writer for a response; `nil` if the response is not stored.
    private func writer(
        for received: StoredHead, _ response: Response, _ status: inout CacheStatus
    ) async -> (any CacheWriter)? {
        guard request.cacheMode != .noStore else {
            status.detail = "mode-no-store"
            return nil
        }
        // Parts are not stored, and the response to a POST is stored for no GET.
        guard request.method == .get, request.body == nil, !isOfThisRequestAlone(received.status) else { return nil }
        let sent = CacheStorability.Request(method: request.method, headers: headers)
        switch CacheStorability.decision(received, to: sent, cache.policy) {
        case .refused(let reason):
            status.detail = reason.token
            return nil
        case .storable: break
        }
        let length = response.headers[.contentLength].flatMap { Int64($0) }
        do {
            let head = CachedHead(received, request: headers)
            let writer = try await storage.makeWriter(for: key, head, length: length)
            status.isStored = true
            return writer
        } catch {
            status.detail = "storage"
            return nil
        }
    }

    /// Returns whether the status is about a part, a condition or the credentials of the request, and not about the URL.
    private func isOfThisRequestAlone(_ status: Int) -> Bool { [206, 401, 407, 412, 416, 417].contains(status) }

    /// Returns the response with the body for the caller, which is stored as it is read.
    private func delivered(
        _ answer: StepResponse, _ writer: (any CacheWriter)?, _ status: CacheStatus
    ) async throws -> StepResponse {
        var status = status
        switch answer.content {
        case .data(let body):
            // All readers have refused the head, and have its beginning alone.
            if answer.response.isBodyCut {
                await writer?.discard()
                status.isStored = false
                return answer.replacing(answer.response.with(status), .data(body))
            }
            let decoded: Data
            do throws(TrellisError) {
                let coded = decodes && !body.isEmpty ? try CodedBody(answer.response.headers) : nil
                decoded = try coded?.decoded(body, limit: bodyLimit) ?? body
            } catch {
                await writer?.discard()
                throw error
            }
            if let writer, await !Self.store(body, writer) {
                status.isStored = false
                status.detail = "storage"
            }
            return answer.replacing(answer.response.with(status), .data(decoded))
        case .source(let token):
            let response = answer.response.with(status)
            let coded = decodes ? try CodedBody(response.headers) : nil
            guard writer != nil || coded != nil else { return answer.replacing(response, answer.content) }
            let source = StoringSource(token, writer, coded, status)
            return answer.replacing(response, .source(TransferToken(source)))
        }
    }

    /// Stores a complete body. Returns `false` if the storage has failed.
    private static func store(_ body: Data, _ writer: any CacheWriter) async -> Bool {
        do {
            if !body.isEmpty { try await writer.write(body) }
            try await writer.commit()
            return true
        } catch {
            await writer.discard()
            return false
        }
    }
}

extension CacheDecision.Request {
    /// Indicates whether a stored response may be the response.
    fileprivate var mayBeAnswered: Bool {
        guard method == .get || method == .head else { return false }
        return mode != .noStore && mode != .reload
    }
}

extension CacheStorability.Reason {
    /// The reason as a token for `Cache-Status`.
    fileprivate var token: String {
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
