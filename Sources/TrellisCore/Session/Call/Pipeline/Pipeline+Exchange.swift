import CurlEngine
import FoundationEssentials

/// The last stage of a call: one request on the wire.
extension Pipeline {
    /// Sends a request on the wire, and returns the response, with its body in memory or as a stream.
    ///
    /// - Parameter permit: The permit that the host's limits have given to the exchange; `nil` if the host has no limits.
    @inline(__always)
    func send(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        session.preparation.mayWaitForTrust
            ? try await sendEvaluated(request, permit) : try await sendOnce(request, permit)
    }

    /// Sends a request as an exchange of its own.
    @inline(never)
    func sendOnce(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        if request.isForm { try await MIMETypes.load() }
        if first == nil { try await loadTrust(for: request) }
        let sizes = request.hasFiles ? try await FileSizes(of: request.body) : nil
        let exchange =
            if mustSign { try await makeSignedExchange(request, permit, sizes) } else {
                try first ?? makeExchange(asked(request), permit, sizes)
            }
        last.note(exchange.prepared)
        do {
            let answer = try await response(to: exchange)
            session.learnUpgrades(from: answer.response.head, of: exchange.prepared)
            call.note(request)
            call.record(exchange.prepared, answer.response.metrics, attempt: context.attempt)
            return answer
        } catch {
            if (error as? TrellisError)?.pendingTrust != nil { throw error }
            call.note(request, error)
            // The end of the call has recorded what was on the wire. An exchange that came after it was not sent.
            if error is CancellationError, call.record.withLock({ $0.isDecided }) { throw error }
            call.record(exchange.prepared, (error as? TrellisError)?.metrics, attempt: context.attempt)
            throw error
        }
    }

    private func asked(_ request: Request) -> Request {
        call.delivery == .connection ? request.withKeyOfConnection : request
    }

    /// Whether the request is signed: signers sign for the origin of the call alone.
    private var mustSign: Bool { !steps.signers.isEmpty && !context.hasLeftOrigin }

    /// Makes the exchange of a request with the changes of its signers.
    @inline(never)
    private func makeSignedExchange(
        _ request: Request, _ permit: LimitPermit?, _ sizes: FileSizes?
    ) async throws -> ExchangeActor {
        let signed = try await session.preparation.signed(asked(request), by: steps.signers, in: context, sizes: sizes)
        return try makeExchange(signed, permit, sizes)
    }

    /// Reads the certificates for a request, if they must be read.
    private func loadTrust(for request: Request) async throws {
        let preparation = session.preparation
        guard preparation.mayLoadTrust else { return }
        let changes = try await noting(.trustFiles) {
            try await preparation.loadTrust(for: request, now: call.clock.now()) { fileLimit(for: request) }
        }
        for change in changes {
            tell { .trustFilesChanged(change.paths, change.error) }
        }
    }

    /// Returns the limit on the first read of the files of certificates: that on connecting.
    private func fileLimit(for request: Request) -> TrustFileLimit? {
        let limit = session.preparation.limits(of: request, delivery: call.delivery).connect
        guard let limit else { return nil }
        return TrustFileLimit(
            wait: { try await self.context.pause(for: .nanoseconds(limit)) }, elapsed: { self.elapsed },
            isZero: limit == 0)
    }

    private func response(to exchange: ExchangeActor) async throws -> StepResponse {
        switch call.delivery {
        case .stream, .connection:
            return try await session.stream(exchange) { try await self.request.head(exchange, inbox: $0) }
        case .memory:
            let (body, response) = try await self.request.collected(exchange)
            return StepResponse(response: response, content: .data(body), to: exchange.prepared)
        }
    }

    private func makeExchange(_ request: Request, _ permit: LimitPermit?, _ sizes: FileSizes?) throws -> ExchangeActor {
        let deadline = call.deadline
        let mayCut = call.delivery == .memory && !self.request.steps.mayReplaceResponses
        let history = AttemptHistory(
            earlierAttempts: context.attempt - 1, redirects: context.redirects, hasLeftOrigin: context.hasLeftOrigin,
            limit: deadline.limit, start: permit?.takeStart() ?? call.clock.now(), observer: call.observer,
            hasRedirectHandler: steps.redirectHandler != nil, mayCutBodies: mayCut, starts: call.starts,
            onStart: permit?.recordSending)
        let prepared = try session.preparation.prepare(
            request, delivery: call.delivery, start: deadline.start, history: history, sizes: sizes, callID: call.id)
        let readers: (any HeadValidator)? = mayCut ? call.record : nil
        return session.makeExchange(
            prepared, of: self.request, readers: cacheLead.map { CacheHeadReader($0, readers) } ?? readers)
    }
}
