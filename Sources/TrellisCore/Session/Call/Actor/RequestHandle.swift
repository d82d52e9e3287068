import CurlEngine
import FoundationEssentials
import Synchronization

/// The state that all handles on one request share. It ends the request when the last handle is released, and keeps its session alive until
/// then.
final class RequestHandle: Sendable {
    /// The request's actor, or the error that prevented it.
    let actor: Result<RequestActor, any Error>
    let session: Session
    /// Whether a response or an error was received. Nothing has to be ended then, and the engine need not be woken.
    private let hasEnded = Atomic(false)

    init(_ actor: Result<RequestActor, any Error>, session: Session) {
        self.actor = actor
        self.session = session
    }

    deinit {
        guard !hasEnded.load(ordering: .relaxed) else { return }
        try? actor.get().end(CancellationError())
    }

    /// The method, the URL without its secrets, and the number of the call; the error if the request could not be created.
    var description: String {
        switch actor {
        case .success(let actor):
            let request = actor.call.request
            return "\(request.method.rawValue) \(URLRedaction.redact(actor.call.completeURL)) (call \(actor.call.id))"
        case .failure(let error): return "failed: \(error)"
        }
    }

    /// Returns the request as the first attempt sends it, if no step changes it.
    func request() throws -> Request {
        let call = try actor.get().call
        let now = session.clock.now()
        return try session.preparation.prepare(call.request, delivery: call.delivery, start: now).request
    }

    /// The number of the call in its process; `nil` if the request could not be created.
    var callID: UInt64? { try? actor.get().call.id }

    /// The exchanges that have ended, in their order.
    var exchanges: [RequestExchange] { (try? actor.get())?.call.record.withLock { $0.exchanges } ?? [] }

    /// The number of attempts after the first one.
    var retryCount: Int { (exchanges.map(\.attempt).max() ?? 1) - 1 }

    /// The state of the request at this moment.
    var state: RequestState {
        get async {
            guard case .success(let actor) = actor else { return .finished }
            return await actor.currentState
        }
    }

    /// Returns the progress of one of the request's bodies. The first value that a reader requests starts the request.
    ///
    /// - Parameters:
    ///   - validation: The conditions of the handle whose progress is read.
    ///   - meter: The meter of the body.
    func progress(
        _ validation: Validation = Validation(), of meter: (RequestActor) -> ProgressBroadcaster
    ) -> TransferProgressSequence {
        guard case .success(let actor) = actor else { return .ended }
        return TransferProgressSequence(meter(actor)) { [weak actor] in
            actor?.beginForProgress(.of(validation, withDefaults: false))
        }
    }

    /// Sends the request, unless it was already sent, and waits for the head of its response.
    func response() async throws -> StepResponse { try await read { try await $0.answer() } }

    /// Sends the request, unless it was already sent, and waits for the response with its complete body.
    ///
    /// - Parameter conditions: The conditions that the response must meet for the reader; `nil` if it accepts any response.
    func answer(_ conditions: ReadingConditions?) async throws -> Answer {
        try await read { try await $0.collected($0.answer(conditions)) }
    }

    /// Waits for a result of the request.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/cancelled`` if the request ended with its other readers.
    private func read<Result>(_ body: (RequestActor) async throws -> Result) async throws -> Result {
        do {
            let result = try await body(actor.get())
            hasEnded.store(true, ordering: .relaxed)
            return result
        } catch is CancellationError {
            // Other readers may still wait for the response. The error of a step is the reader's, as for a verb.
            guard !Task.isCancelled, let actor = try? actor.get(), await actor.currentState == .cancelled else {
                throw CancellationError()
            }
            throw TrellisError(
                .cancelled(.explicitly), method: actor.call.request.method,
                url: URLRedaction.redact(actor.call.completeURL))
        } catch {
            hasEnded.store(true, ordering: .relaxed)
            throw error
        }
    }
}

/// The functions that handles call, from any thread.
extension RequestActor {
    /// Returns the response to one more reader. Starts the call, unless it was started. A cancelled task leaves the call to the other
    /// readers; with the last of them the call ends.
    ///
    /// - Parameter conditions: The reader's conditions of the response; `nil` if it accepts any.
    @inline(never)
    nonisolated func answer(_ conditions: ReadingConditions? = nil) async throws -> StepResponse {
        let reader = Self.readerCount.add(1, ordering: .relaxed).newValue
        return try await withTaskCancellationHandler {
            try await withReply { reply in
                submit { $0.wait(reader, with: reply, conditions) }
                begin()
            }
        } onCancel: {
            submit { $0.leave(reader) }
        }
    }

    private static let readerCount = Atomic<UInt64>(0)

    /// Starts the call, or resumes it.
    ///
    /// - Parameter conditions: The conditions of all readers; `nil` if the readers accept any response.
    nonisolated func resume(_ conditions: ReadingConditions? = nil) {
        submit { request in
            request.start(conditions, with: .resume)
            request.streamedExchange?.perform { $0.resume() }
        }
        begin()
    }

    /// Starts the call for a reader of its progress, unless the call was started or has ended. A suspended call stays suspended.
    ///
    /// - Parameter conditions: The conditions of all readers; `nil` if the readers accept any response.
    nonisolated func beginForProgress(_ conditions: ReadingConditions?) {
        guard !hasBegun.load(ordering: .relaxed), !call.record.withLock({ $0.isDecided }) else { return }
        submit { $0.start(conditions, with: .begin) }
        begin()
    }

    nonisolated func suspend() {
        submit { request in
            request.handle(.suspend)
            request.streamedExchange?.perform { $0.suspend() }
        }
    }

    nonisolated func end(_ error: any Error) {
        submit { request in
            request.cancel(error)
            request.streamedExchange?.perform { $0.cancel(error) }
        }
    }

    /// The exchange whose body is still read, of a stream whose head has been handed over.
    private var streamedExchange: ExchangeActor? {
        guard call.delivery == .stream, currentState == .finished, let exchange else { return nil }
        return exchange.isEnded ? nil : exchange
    }

    /// Starts a task that performs the call, once. It has the priority and the task-local values of the first task that asks, and the
    /// transport of the task that has made the request.
    ///
    /// The task begins at once if it waits for its exchanges alone, so that requests which are resumed in turn wait for connections in that
    /// order. Code of the user's runs on the pool.
    nonisolated func begin() {
        guard !hasBegun.exchange(true, ordering: .relaxed) else { return }
        call.begin()
        submit { $0.setTimer() }
        let work = { @Sendable in
            let result = await TransportOverride.with(self.call.transportOverride) { await self.perform() }
            self.submit { $0.arrive(result) }
        }
        if !CallingThread.isEngine, !steps.immediate.hasUserCode, session.mayPerformHere(call.request, steps) {
            keep(Task.immediate { await work() })
        } else {
            keep(Task(executorPreference: globalConcurrentExecutor) { await work() })
        }
    }
}

/// The progress of a call, measured from the first access to it.
extension RequestActor {
    /// The progress of the request's body.
    nonisolated var uploadProgress: ProgressBroadcaster {
        Self.meter(uploadMeter, call.clock) { made in
            submit { request in
                request.exchange?.perform { $0.measureUpload(with: made) }
                if request.hasEnded { made.finish() }
            }
        }
    }

    /// The progress of the response's body.
    nonisolated var downloadProgress: ProgressBroadcaster {
        Self.meter(downloadMeter, call.clock) { made in
            submit { request in
                request.exchange?.perform { $0.measureDownload(with: made) }
                if request.hasEnded { request.finishDownload(made) }
            }
        }
    }

    private static func meter(
        _ place: borrowing LazyReference<ProgressBroadcaster>, _ clock: any EngineClock,
        whenMade: (ProgressBroadcaster) -> Void
    ) -> ProgressBroadcaster {
        if let meter = place.load() { return meter }
        let made = ProgressBroadcaster(clock: clock)
        let meter = place.storeIfNil(made)
        if meter === made { whenMade(made) }
        return meter
    }

    /// Measures the bodies of a new exchange, starting at zero.
    func measureBodies() {
        if let meter = uploadMeter.load() { exchange?.perform { $0.measureUpload(with: meter) } }
        if let meter = downloadMeter.load() { exchange?.perform { $0.measureDownload(with: meter) } }
    }

    /// Ends the progress sequences.
    func finishMeters() {
        uploadMeter.load()?.finish()
        guard let meter = downloadMeter.load() else { return }
        finishDownload(meter)
    }

    /// Ends the progress of the response's body: with the call or, for a stream, with its body.
    func finishDownload(_ meter: ProgressBroadcaster) {
        if call.delivery == .stream, let exchange, !exchange.isEnded {
            exchange.perform { $0.endDownloadMeterAtEnd() }
        } else {
            meter.finish()
        }
    }
}
