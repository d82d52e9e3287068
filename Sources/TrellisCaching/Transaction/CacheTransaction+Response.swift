import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// Stored responses as the responses to requests.
extension CacheTransaction {
    /// The response to a request that must not be sent, and for which nothing is stored (RFC 9111, section 5.2.1.7).
    var unsatisfiable: StepResponse {
        let head = ResponseHead(status: .gatewayTimeout, headers: HTTPFields())
        let response = Response(head: head, url: url.text, metrics: metrics(.unsatisfiable), to: lookup.answered)
        return StepResponse(response: response, content: .data(Data()), to: lookup)
    }

    /// Returns a stored response as the response to the request.
    ///
    /// - Parameters:
    ///   - received: The head of the response of the origin to this request; `nil` if there was none.
    ///   - exchange: The metrics of the exchange with the origin; empty if the request was not sent.
    /// - Throws: ``Unreadable`` if the body cannot be read.
    func response(
        _ entry: CacheEntry, _ use: CacheDecision.Use, status: CacheStatus, after received: StoredHead? = nil,
        exchange: Metrics = Metrics()
    ) async throws -> StepResponse {
        let (stored, bytes) = lookup.head(entry, use)
        let head = received.map { withOwnCookies(stored, of: $0) } ?? stored
        let response = Response(
            head: head, url: url.text, metrics: metrics(status, exchange), redirects: pipeline.context.redirects,
            to: lookup.answered)
        let coded: CodedBody?
        do { coded = decodes && !bytes.isEmpty ? try CodedBody(head.headers) : nil } catch {
            throw Unreadable(underlying: error)
        }
        guard pipeline.call.delivery == .memory else {
            let (storage, key) = (storage, key)
            let source = CachedBodySource(
                entry.body, in: bytes, decodedBy: coded, of: response, observer: pipeline.call.observer,
                limit: streamLimit, deadline: pipeline.call.deadline
            ) {
                if let key { try? await storage.remove(entry, for: key) }
            }
            return StepResponse(response: response, content: .source(TransferToken(source)), to: lookup)
        }
        if isFollowed(head) { return StepResponse(response: response, content: .data(Data()), to: lookup) }
        let limit = bodyLimit
        do {
            return StepResponse(
                response: response, content: .data(try await body(of: entry, in: bytes, coded: coded, limit: limit)),
                to: lookup)
        } catch let error as TrellisError where error.kind == .bodyTooLarge && mayContinue(after: head) {
            let cut = response.with(.tooLarge(limit: limit.bytes))
            return StepResponse(response: cut, content: .data(Data()), to: lookup)
        }
    }

    /// Returns a head with the cookies of the origin's response to this request. Those that the cache of many users has stored are another
    /// user's; in the cache of one user, the head has the newest ones already.
    func withOwnCookies(_ head: ResponseHead, of received: StoredHead) -> ResponseHead {
        guard cache.policy.isShared else { return head }
        var headers = head.headers
        headers[values: .setCookie] = []
        for field in received.headers where field.name == .setCookie { headers.append(field) }
        return ResponseHead(status: head.status, headers: headers, version: head.version)
    }

    private func body(
        of entry: CacheEntry, in bytes: Range<Int64>, coded: CodedBody?, limit: ByteLimit
    ) async throws -> Data {
        guard !bytes.isEmpty else { return Data() }
        guard coded != nil || !limit.isExceeded(by: bytes.count) else { throw TrellisError.bodyTooLarge(limit) }
        do {
            let body = try await entry.body.bytes(in: bytes)
            return try coded?.decoded(body, limit: limit.bytes) ?? body
        } catch let error as TrellisError where error.kind == .bodyTooLarge {
            throw error
        } catch {
            throw Unreadable(underlying: error)
        }
    }

    /// Returns whether a response is a redirect that the call follows or refuses, so that nobody gets its body.
    func isFollowed(_ head: ResponseHead) -> Bool {
        !pipeline.attached.kinds.contains(.redirectHandler) && mayCutBodies && !head.redirectTargets.isEmpty
    }

    /// Returns whether the call may continue after a response, so that the limit on its body applies only if it turns out to be final.
    func mayContinue(after head: ResponseHead) -> Bool {
        mayCutBodies && (!head.redirectTargets.isEmpty || head.status.code >= 400)
    }

    private var mayCutBodies: Bool {
        pipeline.call.delivery == .memory && !pipeline.attached.mayReplaceResponses
    }

    /// The limit on the body in memory.
    var bodyLimit: ByteLimit { request.maximumBodySize ?? pipeline.session.configuration.maximumBodySize }

    /// The limit on the body of a stream.
    var streamLimit: ByteLimit { request.maximumBodySize ?? .unlimited }

    private func metrics(_ status: CacheStatus, _ exchange: Metrics = Metrics()) -> Metrics {
        var metrics = exchange
        metrics.callID = pipeline.call.id
        metrics.total = pipeline.context.elapsed
        metrics.attemptCount = pipeline.context.attempt
        metrics.cacheStatus = named(status)
        return metrics
    }

    /// Returns a status with the key.
    func named(_ status: CacheStatus) -> CacheStatus {
        var status = status
        status.key = key?.url
        return status
    }
}
