import CurlEngine
import FoundationEssentials
import Synchronization

/// A verb's call whose steps do not wait: adapters that return at once, a cookie jar, a circuit breaker. Everything before and after the
/// exchange runs in the caller's task, without an actor and without a task of the call's own. The stages are those of ``Pipeline``, in the
/// same order. A call that continues after its first exchange, with a redirect or another attempt, becomes a ``RequestActor``.
final class DirectCall: Sendable {
    private let session: Session
    private let steps: AttachedSteps
    let conditions: ReadingConditions?
    private let context: CallContext

    /// The position in the session's list of such calls, which guards it by its lock.
    let listPosition = Atomic(-1)

    var call: Call { context.call }

    /// - Parameter conditions: The conditions that the caller has of the response; `nil` if it accepts any.
    init(_ call: Call, _ steps: AttachedSteps, _ conditions: ReadingConditions?, session: Session) {
        self.session = session
        self.steps = steps
        self.conditions = conditions
        context = CallContext(call)
    }

    /// An exchange that is about to be sent.
    struct Sending {
        /// The request with the changes of the adapters, without the jar's cookies.
        let request: Request
        let exchange: ExchangeActor
        let permit: LimitPermit?
        let turn: DirectCacheTurn?
        let observation: (any ExchangeObservation)?

        /// Returns whether the call continues after the exchange.
        func isContinued(after failure: (any Error)?, head: ResponseHead?) -> Bool {
            exchange.prepared.history?.isContinued(after: failure, head: head, of: exchange.prepared) ?? false
        }
    }

    /// The result of the stages before the exchange.
    private enum Beginning {
        case sending(Sending)
        /// The response is stored.
        case stored(StoredAnswer)
        /// The attempt has failed before its exchange, with the request that was adapted, if it was.
        case failed(any Error, Request?)
        /// The call continues as an actor, with this work, because an adapter has set a body that waits for a disk, or a way
        /// that has to be found, or because the request waits for the cache.
        case waiting(RequestActor, @Sendable () async -> Result<StepResponse, any Error>)
    }

    /// The part of the call after its first exchange.
    struct Rest {
        let actor: RequestActor
        let result: Result<StepResponse, any Error>
        let sent: Request?
    }

    /// The end of the first exchange.
    enum Ending {
        case answer(Answer)
        case rest(Rest)
        case failed(any Error)
    }

    /// Sends the request and returns its response with the complete body.
    func collected() async throws -> Answer {
        let asked = try begin()
        defer {
            leaveList()
            // A clock that is set by hand waits for calls.
            if session.hasOwnClock { call.record.withLock { $0.isDecided = true } }
        }
        let adapted: Result<Request, any Error>
        if steps.direct?.mayWait == true {
            switch adaptInTask(asked) {
            case .adapted(let result): adapted = result
            case .waiting(let work):
                let actor = makeActor()
                return try await actor.collected(actor.proceed(after: work, conditions))
            }
        } else {
            adapted = adaptAtOnce(asked)
        }
        let rest: Rest
        switch beginExchange(adapted) {
        case .waiting(let actor, let work):
            return try await actor.collected(actor.proceed(conditions, with: work))
        case .stored(let answer): return ended(with: answer)
        case .failed(let error, let request): rest = try failed(with: error, request)
        case .sending(let sending):
            let ending: Ending
            do {
                let (body, response) = try await sending.exchange.collected()
                ending = end(sending, response, body)
            } catch {
                ending = .rest(try failed(sending, with: error))
            }
            switch ending {
            case .answer(let answer): return answer
            case .rest(let last): rest = last
            case .failed(let error): throw error
            }
        }
        let answer = try await rest.actor.proceed(after: rest.result, sent: rest.sent, conditions)
        return try await rest.actor.collected(answer)
    }

    // MARK: Before the exchange

    /// Returns the caller's request with its URL completed by the session.
    ///
    /// - Throws: The error of a call that has no attempt.
    private func begin() throws -> Request {
        do {
            if Task.isCancelled { throw CancellationError() }
            let request = try session.asked(by: call, tellsUpgrade: true)
            if hasAdapters { try enterList() }
            return request
        } catch {
            throw ended(with: error)
        }
    }

    /// Whether adapters run before the exchange. While they run, the session knows the call by its list of such calls.
    private var hasAdapters: Bool { steps.direct?.hasAdapters == true }

    /// Adds the call to the session's list. A session that drains waits for the calls in it.
    private func enterList() throws {
        session.actor.calls.add(self)
        // The session looks at the list after it has refused new calls: it has found this call, or this call finds that.
        guard !session.life.isShutDown else {
            leaveList()
            throw TrellisError.sessionIsShutDown
        }
    }

    /// Removes the call from the session's list, when the call has ended.
    private func leaveList() {
        guard hasAdapters else { return }
        session.actor.calls.remove(self)
        if session.life.isShutDown { session.actor.submit { $0.resumeIfEmpty() } }
    }

    /// Returns the actor that continues the call.
    private func makeActor(after exchange: ExchangeActor? = nil) -> RequestActor {
        session.makeRequest(continuing: call, steps, after: exchange, isInFlight: hasAdapters)
    }

    /// Cancels the call while it has neither an actor nor an exchange. Either of them finds the error when it begins.
    func cancel(_ error: any Error) { call.record.withLock { $0.cancellation = error } }

    /// The error of a call that needs neither an actor nor an exchange, and so is asked here; `nil` if the call may have its response. A
    /// session that drains lets the calls in its list continue.
    private var refusal: (any Error)? {
        if hasAdapters { return call.cancellation }
        return session.life.isShutDown ? TrellisError.sessionIsShutDown : nil
    }

    /// Creates the exchange of an adapted request.
    @inline(never)
    private func beginExchange(_ adapted: Result<Request, any Error>) -> Beginning {
        switch adapted {
        case .failure(let error): return .failed(error, nil)
        case .success(let request):
            // Otherwise the session has looked already.
            let mayDiffer = hasAdapters || session.configuration.hsts != nil
            if mayDiffer, request.waitsForDisk || session.preparation.mustWait(for: request, session.clock) {
                let actor = makeActor()
                return .waiting(actor) { await Pipeline(actor).proceed(with: adapted) }
            }
            do {
                if let caching = steps.direct?.caching { return try beginExchange(request, caching) }
                return .sending(try makeExchange(request, addingCookies(to: request), nil))
            } catch {
                return .failed(error, request)
            }
        }
    }

    private func addingCookies(to request: Request) -> Request {
        guard let direct = steps.direct, direct.hasCookies else { return request }
        return direct.cookies?.addingCookies(to: request) ?? request
    }

    /// Creates the exchange of an adapted request, unless a stored response is the response.
    private func beginExchange(_ request: Request, _ caching: ImmediateCache) throws -> Beginning {
        let whole = addingCookies(to: request)
        let lookup = try CacheLookup(whole, asked: request, caching.cache, session.preparation, hasLeft: false)
        let limit = whole.maximumBodySize ?? session.configuration.maximumBodySize
        switch DirectCacheTurn.begin(lookup, caching, limit: limit) {
        case .sending(let turn): return .sending(try makeExchange(request, whole, turn))
        case .stored(let answer):
            let hasRetriers = !steps.steps.retriers.isEmpty
            guard answer.mayBeContinued(hasRetriers: hasRetriers, hasConditions: conditions != nil) else {
                if let error = refusal { return .failed(error, request) }
                caching.cache.record(answer.status)
                return .stored(answer)
            }
        case .waiting: break
        }
        let actor = makeActor()
        return .waiting(actor) { await Pipeline(actor).proceed(with: .success(request)) }
    }

    /// Runs the adapters, none of which waits.
    @inline(never)
    private func adaptAtOnce(_ asked: Request) -> Result<Request, any Error> {
        if !hasAdapters { return .success(asked) }
        var (request, index) = (asked, 0)
        do { _ = try steps.adaptAtOnce(&request, from: &index, context: context) } catch { return .failure(error) }
        return .success(completed(request, from: asked))
    }

    /// Runs the adapters in a task that the deadline can cancel. The task begins at once: adapters that do not suspend have returned when
    /// this function returns.
    @inline(never)
    private func adaptInTask(_ asked: Request) -> Adaptation.State {
        let adaptation = Adaptation()
        let task = Task.immediate {
            let result = await adaptWaiting(asked)
            if let waiter = adaptation.finish(with: result) { await waiter.proceed(with: result) }
        }
        return adaptation.state(task)
    }

    private func adaptWaiting(_ asked: Request) async -> Result<Request, any Error> {
        do {
            return .success(completed(try await steps.adapt(asked, context: context), from: asked))
        } catch {
            return .failure(error)
        }
    }

    private func completed(_ adapted: Request, from asked: Request) -> Request {
        let request = session.upgraded(adapted, by: call)
        if request.url != asked.url { for budget in steps.budgets { budget.recordRequest(request, of: call) } }
        return request
    }

    /// Creates an exchange.
    ///
    /// - Parameters:
    ///   - whole: The request with the jar's cookies.
    ///   - turn: The passage through the cache; `nil` without one.
    private func makeExchange(_ request: Request, _ whole: Request, _ turn: DirectCacheTurn?) throws -> Sending {
        let permit: LimitPermit?
        do {
            permit = try steps.steps.circuitBreaker.map { try LimitPermit(of: whole, enteringCircuitOf: $0, context) }
        } catch {
            turn?.failed()
            throw error
        }
        let (whole, observation) = call.exchangeObserver?.begin(whole, context: context) ?? (whole, nil)
        do {
            let deadline = call.deadline
            let history = AttemptHistory(
                earlierAttempts: 0, redirects: [], hasLeftOrigin: false, limit: deadline.limit,
                start: permit?.takeStart() ?? waitStart(deadline), observer: call.observer,
                hasRedirectHandler: steps.steps.redirectHandler != nil, onStart: permit?.recordSending,
                continuation: DirectContinuation(
                    hasRetriers: !steps.steps.retriers.isEmpty, conditions: conditions,
                    adaptedCall: steps.steps.adapters.isEmpty ? nil : call))
            let exchange = try session.makeExchange(
                whole, start: deadline.start, history, callID: call.id,
                readers: turn?.readers(conditions) ?? conditions,
                keepsCoding: turn?.lookup.decodes ?? false, url: observation == nil ? turn?.lookup.url : nil)
            return Sending(
                request: request, exchange: exchange, permit: permit, turn: turn, observation: observation)
        } catch {
            observation?.end(with: error)
            turn?.failed()
            permit?.end(with: nil, error, context)
            throw error
        }
    }

    /// Returns the instant from which the exchange waits for its slot: not before adapters of the user's, which take time, have returned.
    private func waitStart(_ deadline: CallDeadline) -> EngineInstant {
        steps.direct?.hasUserCode == true ? call.clock.now() : deadline.start
    }

    // MARK: After the exchange

    /// Handles a response: it is the call's, or the call continues.
    @inline(never)
    func end(_ sending: Sending, _ received: Response, _ bytes: Data) -> Ending {
        if steps.direct?.isObserved == true { sending.observation?.end(with: received, isStreamed: false) }
        sending.permit?.end(with: received.status, nil, context)
        let prepared = sending.exchange.prepared
        session.learnUpgrades(from: received.head, of: prepared)
        if let direct = steps.direct, direct.hasCookies {
            direct.cookies?.keepCookies(of: received, to: sending.request)
        }
        var (response, body) = (received, bytes)
        if let turn = sending.turn {
            do {
                (body, response) = try turn.received(bytes, received, to: prepared, call.observer)
                if let status = response.cacheStatus {
                    call.exchangeObserver?.didUseCache(status, for: sending.request, context: context)
                }
            } catch {
                if steps.steps.retriers.isEmpty {
                    // The session would wait for the call that follows a redirect.
                    if received.status.isRedirect { sending.exchange.recordAbandonment() }
                    return .failed(ended(with: error))
                }
                call.note(prepared.request)
                return .rest(rest(.failure(error), sending.request, sending.exchange))
            }
        }
        if sending.isContinued(after: nil, head: response.head) {
            return .rest(
                rest(
                    .success(StepResponse(response: response, content: .data(body), to: prepared)), sending.request,
                    sending.exchange))
        }
        // The session would wait for the call to continue.
        if prepared.history?.mayFailLater(after: received.head, of: prepared) == true {
            sending.exchange.recordAbandonment()
        }
        if call.observer != nil { call.tellEnd(.success(response)) }
        return .answer(
            Answer(to: prepared, response: response, body: body, observer: call.observer))
    }

    /// Ends the call with a stored response.
    @inline(never)
    private func ended(with stored: StoredAnswer) -> Answer {
        let total = call.clock.now().nanoseconds(since: call.deadline.start)
        let response = stored.response(callID: call.id, total: total)
        call.observer?.tell(.cacheUsed(stored.status))
        call.exchangeObserver?.didUseCache(stored.status, for: stored.lookup.request, context: context)
        call.tellEnd(.success(response))
        return Answer(to: stored.lookup, response: response, body: stored.body, observer: call.observer)
    }

    /// Handles the failure of the exchange. Returns the rest of the call, whose retriers may ask for another attempt.
    ///
    /// - Throws: The error of the call, if the call ends with it.
    @inline(never)
    func failed(_ sending: Sending, with error: any Error) throws -> Rest {
        sending.observation?.end(with: error)
        sending.turn?.failed()
        call.note(sending.exchange.prepared.request, error)
        let isContinued = sending.isContinued(after: error, head: nil)
        // The end of a call at its deadline is an event before the consequence for the host's circuit.
        let endsCall = sending.exchange.prepared.history?.endsCall(error, of: sending.exchange.prepared) ?? false
        let failure = endsCall ? ended(with: error) : error
        sending.permit?.end(with: nil, error, context)
        if isContinued { return rest(.failure(error), sending.request, sending.exchange) }
        throw endsCall ? failure : ended(with: error)
    }

    /// Handles a failure before the exchange.
    private func failed(with error: any Error, _ request: Request?) throws -> Rest {
        if steps.steps.retriers.isEmpty { throw ended(with: error) }
        return rest(.failure(error), request, nil)
    }

    /// Ends a call that fails. Returns the error for the caller.
    private func ended(with error: any Error) -> any Error { session.ended(call, with: error) }

    /// Makes the actor of a call that continues.
    @inline(never)
    private func rest(
        _ result: Result<StepResponse, any Error>, _ sent: Request?, _ exchange: ExchangeActor?
    ) -> Rest {
        if case .success = result, let exchange { call.note(exchange.prepared.request) }
        return Rest(actor: makeActor(after: exchange), result: result, sent: sent)
    }
}
