import CurlEngine
import FoundationEssentials
import Synchronization

/// The creation of calls by the verbs and handles of a session. A verb's call whose steps do not wait is a ``Pipeline`` in the caller's
/// task. Any other call is a ``RequestActor`` with a pipeline.
extension Session {
    /// Sends a request and returns its response with the complete body.
    ///
    /// - Parameters:
    ///   - make: Creates the request. The call's time is measured from before that.
    ///   - conditions: The conditions that the response must meet for the reader; `nil` if it accepts any response.
    func answer(
        _ make: @autoclosure () throws -> Request, _ conditions: ReadingConditions? = nil
    ) async throws -> Answer {
        switch try send(make, .memory, for: conditions) {
        case .here(let pipeline):
            let answer = try await pipeline.performHere()
            return Answer(answer, answer.data ?? Data(), observer: pipeline.call.observer)
        case .actor(let call): return try await call.runCollecting(conditions)
        }
    }

    /// Sends a request and returns as soon as the head of its response has come.
    ///
    /// - Parameter isInFlight: Whether the call belongs to a download that the session knows, so that it is sent even while the
    ///   session drains.
    package func open(_ make: @autoclosure () throws -> Request, isInFlight: Bool = false) async throws
        -> StreamResponse
    {
        switch try send(make, .stream, isInFlight: isInFlight) {
        case .here(let pipeline): StreamResponse(try await pipeline.performHere())
        case .actor(let call): StreamResponse(try await call.run())
        }
    }

    /// The call of a verb.
    private enum Sending {
        /// The call waits for its exchanges alone, in the caller's task.
        case here(Pipeline)
        case actor(RequestActor)
    }

    /// Makes a request and its call. Separate from the functions that wait, so that a call that waits keeps none of these values in its
    /// frame.
    @inline(never)
    private func send(
        _ make: () throws -> Request, _ delivery: Delivery, for conditions: ReadingConditions? = nil,
        isInFlight: Bool = false
    ) throws -> Sending {
        let start = clock.now()
        let request = try make()
        let steps = joined(self.steps, request)
        guard !isInFlight, mayPerformHere(request, steps) else {
            return .actor(makeRequest(request, delivery, start: start, isInFlight: isInFlight, steps: steps))
        }
        let limit = preparation.limits(of: request, delivery: delivery).total
        let call = makeCall(
            request, delivery, with: steps, on: engines.first, start: start, limit: limit, hasNoEngine: true)
        return .here(Pipeline(call, steps, for: conditions, session: self))
    }

    /// Returns whether a call waits for nothing but its exchanges, so that it needs no task of its own.
    func mayPerformHere(_ request: Request, _ steps: AttachedSteps) -> Bool {
        guard !steps.immediate.mayWait, !request.waitsForDisk, !preparation.mustWait(for: request, clock),
            !mustPrepareUpgrades
        else { return false }
        // Code of the user's does not run on an engine thread.
        return !steps.immediate.hasUserCode || !CallingThread.isEngine
    }

    /// Returns the steps of a call: those of the session or of an operation, followed by the request's own.
    private func joined(_ outer: AttachedSteps, _ request: Request) -> AttachedSteps {
        request.attachedSteps.map { AttachedSteps(outer, followedBy: $0) } ?? outer
    }

    /// Creates a request for a handle, which starts it later. Throws the error of an invalid request at once if no step can correct it, and
    /// no observer would get it.
    func deferredRequest(_ request: Request, delivery: Delivery = .memory) throws -> RequestActor {
        if delivery == .memory, request.attachment == nil, !hasSteps, !hub.isObserved {
            try preparation.checkBeforeStart(request)
        }
        let record = Locked(CallRecord())
        record.withLock { $0.exchanges = [] }
        return makeRequest(request, delivery, record: record)
    }

    /// Creates a request with its steps. The request is not started.
    ///
    /// - Parameters:
    ///   - start: The instant at which the call was made; if `nil`, the call's time is measured from its start.
    ///   - record: The call's record.
    ///   - isInFlight: Whether the call belongs to a download or a call that the session knows.
    ///   - steps: The steps of the session and of the request; if `nil`, they are joined here.
    @inline(never)
    func makeRequest(
        _ request: Request, _ delivery: Delivery, start: EngineInstant? = nil, record: Locked<CallRecord>? = nil,
        isInFlight: Bool = false, steps: AttachedSteps? = nil
    ) -> RequestActor {
        let steps = steps ?? joined(self.steps, request)
        let limit = preparation.limits(of: request, delivery: delivery).total
        let engine = engines.engine(for: preparation.queue(of: request))
        let call = makeCall(request, delivery, with: steps, on: engine, start: start, limit: limit, record: record)
        return RequestActor(call, session: self, engine: engine, steps: steps, isInFlight: isInFlight)
    }

    /// Creates a call, and sends its first event.
    private func makeCall(
        _ request: Request, _ delivery: Delivery, with steps: AttachedSteps, on engine: SessionEngine,
        start: EngineInstant?, limit: UInt64?, record: Locked<CallRecord>? = nil, hasNoEngine: Bool = false
    ) -> Call {
        let id = Call.nextID()
        let call = Call(
            request, id: id, delivery: delivery, start: start, limit: limit, engine: engine.executor, clock: clock,
            sender: self, observer: observer(ofCall: id, request), exchangeObserver: steps.steps.exchangeObserver,
            isHedged: steps.steps.hedging != nil, hasNoEngine: hasNoEngine, record: record)
        call.observer?.tell(.created(request))
        return call
    }

    /// Returns the observer of a call; `nil` if neither the session nor the request has observers.
    private func observer(ofCall id: UInt64, _ request: Request) -> CallObserver? {
        let monitors = request.eventMonitors
        guard hub.isObserved || !monitors.isEmpty else { return nil }
        // If the URL is invalid, the call itself throws the error.
        let completed = (try? preparation.completingURL(of: request)) ?? request
        return CallObserver(hub: hub, id: id, request: completed, monitors: monitors, clock: clock)
    }

    func sharedCall(for request: Request, _ steps: AttachedSteps, depth: Int) -> SharedCall {
        var request = request
        // Each of the waiting calls has its own total limit.
        var timeouts = request.timeouts ?? Timeouts()
        timeouts.total = nil
        request.timeouts = timeouts
        if !request.eventMonitors.isEmpty { request.eventMonitors = [] }
        let engine = engines.engine(for: preparation.queue(of: request))
        let shared = RequestActor(
            makeCall(request, .memory, with: steps, on: engine, start: nil, limit: nil),
            session: self, engine: engine, steps: steps, depth: depth, isInFlight: true)
        return SharedCall(id: shared.call.id) { try await shared.answer() }
    }

    /// Creates the call of an operation that the session knows, with other steps than the session's.
    func backgroundCall(for request: Request, _ steps: AttachedSteps) -> RequestActor {
        makeRequest(request, .stream, start: clock.now(), isInFlight: true, steps: joined(steps, request))
    }

    /// Creates the actor of a call that began without one. A session that drains lets it continue.
    ///
    /// - Parameter end: The end of the attempt after which the call continues.
    func makeRequest(continuing call: Call, _ steps: AttachedSteps, after end: AttemptEnd) -> RequestActor {
        let earlier = end.last.value is Call ? nil : end.context
        let engine = engines.engine(for: preparation.queue(of: call.request))
        return RequestActor(call, session: self, engine: engine, steps: steps, after: earlier, isInFlight: true)
    }

    /// Creates an exchange that has not started.
    ///
    /// - Parameter call: The call of the exchange, on whose engine it is created; if `nil`, the session chooses an engine.
    func makeExchange(
        _ prepared: PreparedRequest, of call: RequestActor? = nil, readers: (any HeadValidator)? = nil
    ) -> ExchangeActor {
        let engine = call?.engine ?? engines.engine(for: prepared.queue)
        let (site, admission) =
            TransportOverride.current?.place(on: engine.site, engines.admission, configuration.limits)
            ?? (engine.site, engines.admission)
        return ExchangeActor(
            prepared, engine: site, prefersEngine: call?.prefersEngine ?? engine.executor.isCurrent,
            admission: admission, flow: flow(of: prepared.source), readers: readers)
    }

    /// Returns the response of an exchange whose body is still arriving.
    ///
    /// - Parameter head: Starts the exchange and waits for its head.
    func stream(
        _ exchange: ExchangeActor, _ head: (BodyInbox) async throws -> Response
    ) async throws -> StepResponse {
        let inbox = BodyInbox {
            exchange.submitDirectly { $0.readerHasDrained() }
        } whenAbandoned: {
            exchange.cancelWithTask()
        }
        let response = try await head(inbox)
        // The session stays alive as long as its streams.
        let source = StreamSource(inbox: inbox, exchange: exchange, session: self)
        return StepResponse(response: response, content: .source(TransferToken(source)), to: exchange.prepared)
    }
}

extension Session {
    /// Returns the error of a call, completed with the traffic of the call before the failed exchange, and with the call's request if the
    /// error has none.
    func completed(_ error: any Error, of call: Call) -> any Error {
        guard var error = error as? TrellisError else { return error }
        if error.method == nil { error.method = call.request.method }
        if error.url == nil { error.url = URLRedaction.redact(completeURL(of: call.request)) }
        error.wasThrown(by: call.id)
        error.earlierTraffic = max(error.earlierTraffic, call.traffic)
        return error
    }

    /// Returns the error for the callers of a call that ends with it, and sends the last events of the call.
    func ended(_ call: Call, with error: any Error) -> any Error {
        let error = completed(error, of: call)
        call.tellEnd(.failure(error))
        return error
    }

    /// Ends a call with its result, and sends its last events. A final response is a failure if its body was cut off at the limit on
    /// bodies.
    @inline(never)
    func ended(
        _ call: Call, with result: Result<StepResponse, any Error>
    ) -> Result<StepResponse, any Error> {
        let answer: StepResponse
        switch result {
        case .failure(let error): return .failure(ended(call, with: error))
        case .success(let received): answer = received
        }
        guard case .tooLarge(let limit)? = answer.response.bodyCut else {
            if call.observer != nil { call.tellEnd(.success(answer.response)) }
            return result
        }
        var error = TrellisError(
            .invalidResponse(.bodyTooLarge(limit: limit)), method: answer.sent.sentRequest.method,
            url: URLRedaction.redact(answer.response.url), phase: .receiving, metrics: answer.response.metrics)
        error.followed = answer.response.redirects
        return .failure(ended(call, with: error))
    }

    /// Returns the URL of a request, completed with the base URL and the default query items if the URL is valid.
    func completeURL(of request: Request) -> String {
        (try? preparation.completingURL(of: request))?.url ?? request.url
    }
}

extension Session: RequestSender {
    var freeEngine: EngineExecutor { engines.engine(for: nil).executor }

    func answer(inFlight request: Request) async throws -> Answer {
        let steps = AttachedSteps(configuration.steps.ofRequestsInFlight)
        let call = makeRequest(request, .memory, start: clock.now(), isInFlight: true, steps: joined(steps, request))
        return try await call.runCollecting(nil)
    }
}

extension Request {
    /// Whether the body is a form. The types of its parts are found in the system's tables, which only a thread that may block
    /// reads.
    var isForm: Bool { if case .multipart? = body?.source { true } else { false } }

    /// Whether the request is sent only after a disk was read, which may be slow.
    var waitsForDisk: Bool { hasFiles || isForm && !MIMETypes.isLoaded.load(ordering: .relaxed) }
}
