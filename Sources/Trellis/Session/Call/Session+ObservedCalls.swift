import CurlEngine
import FoundationEssentials

/// The calls in memory of a session with observers and without steps. Such a call is an exchange alone, as one without observers. It
/// becomes a ``DirectCall`` when it continues after its exchange, with a redirect, and when it fails.
extension Session {
    /// Creates the exchange of a request that has observers and no steps, and sends the first event of its call; `nil` if the request needs
    /// more than an exchange, or cannot be sent.
    @inline(never)
    func observedExchange(
        _ request: Request, _ conditions: ReadingConditions?, _ start: EngineInstant
    ) -> ExchangeActor? {
        guard !hasSteps, request.attachment == nil, !request.waitsForDisk, !request.hasLeftOrigin,
            !preparation.mustWait(for: request, clock), !Task.isCancelled
        else { return nil }
        var asked = request
        if preparation.urlDefaults != nil {
            guard let completed = try? preparation.completingURL(of: request) else { return nil }
            asked = completed
        }
        let id = Call.nextID()
        let observer = CallObserver(hub: hub, id: id, request: asked, clock: clock)
        let history = AttemptHistory(
            earlierAttempts: 0, redirects: [], hasLeftOrigin: false,
            limit: preparation.limits(of: request, delivery: .memory).total, start: start, observer: observer,
            hasRedirectHandler: false,
            continuation: DirectContinuation(hasRetriers: false, conditions: conditions, adaptedCall: nil))
        let exchange = try? makeExchange(
            asked, start: start, history, callID: id, readers: conditions, keepsCoding: false)
        if exchange != nil {
            observer.open()
            observer.tell(.created(request))
        }
        return exchange
    }

    /// Waits for the response of such an exchange, and for those of the requests that follow it.
    @inline(never)
    func collected(
        observed exchange: ExchangeActor, _ request: Request, _ conditions: ReadingConditions?
    ) async throws -> Answer {
        let result: Result<(Data, Response), any Error>
        do {
            let (body, response) = try await exchange.collected()
            guard response.status.isRedirect else {
                let observer = exchange.prepared.history?.observer
                observer?.close(with: .finished(response))
                return Answer(to: exchange.prepared, response: response, body: body, observer: observer)
            }
            result = .success((body, response))
        } catch {
            result = .failure(error)
        }
        let asked = (try? preparation.completingURL(of: request)) ?? request
        return try await directCall(after: exchange, request, conditions).collected(after: exchange, of: asked, result)
    }

    /// Makes the call of a request whose exchange has ended, with the observer of the exchange.
    private func directCall(
        after exchange: ExchangeActor, _ request: Request, _ conditions: ReadingConditions?
    ) -> DirectCall {
        let (prepared, history) = (exchange.prepared, exchange.prepared.history)
        let call = Call(
            request, id: prepared.callID, delivery: .memory, start: prepared.start, limit: history?.limit,
            engine: engines.first.executor, clock: clock, sender: self, observer: history?.observer, isDirect: true)
        return DirectCall(call, steps, conditions, nil, session: self)
    }
}

extension DirectCall {
    /// Ends a call that was its exchange alone until now.
    ///
    /// - Parameter request: The request with its URL completed by the session.
    fileprivate func collected(
        after exchange: ExchangeActor, of request: Request, _ result: Result<(Data, Response), any Error>
    ) async throws -> Answer {
        let sending = Sending(request: request, exchange: exchange, permit: nil, turn: nil, observation: nil)
        let ending: Ending
        switch result {
        case .success(let received): ending = end(sending, received.1, received.0)
        case .failure(let error): ending = .rest(try failed(sending, with: error))
        }
        switch ending {
        case .answer(let answer): return answer
        case .failed(let error): throw error
        case .rest(let rest):
            let answer = try await rest.actor.proceed(after: rest.result, sent: rest.sent, conditions)
            return try await rest.actor.collected(answer)
        }
    }
}
