import CurlEngine

/// Lets requests that ask for the same thing at the same time share one answer: one request goes out, and all who asked wait for
/// it.
///
/// ```swift
/// configuration.steps.aroundCall.append(SingleFlight())
/// ```
///
/// Requests are the same if their method is `GET` or `HEAD` and they have no body, and if their URLs, fields, limits and options
/// are equal; credentials are fields like others. A request with steps of its own (``Request/steps``) is the same as its copies
/// alone. Answers are shared that are collected in memory; streams go out for themselves.
///
/// Put it first among ``Steps/aroundCall``, so that what stands behind runs once for all. Adapters run once too, with the task-local
/// values of whoever came first: where an adapter takes a user's credentials from those, there must be no single flight.
///
/// The shared request is a call of its own, with an ``RequestEvent/callID`` of its own, and no one's in particular:
///
/// - Who leaves, because its task is cancelled or its own time is over, leaves alone. When the last has left, the request ends.
/// - It has no limit in total: it goes on as long as anybody waits for it, however early the first came. The other limits of
///   ``Timeouts`` hold.
/// - Its failure is the failure of all, and its metrics are in all answers.
public final class SingleFlight: AnswerForwardingStep {
    private struct Key: Hashable {
        let request: SingleFlightKey
        /// The session, by its thread.
        let session: ObjectIdentifier
        /// What the request has of its own. The flight keeps it, so that nothing else gets this name meanwhile.
        let steps: ObjectIdentifier?
        let extras: ObjectIdentifier?
        let depth: Int
    }

    private struct Flight {
        let call: any SharedCall
        var task: Task<Void, Never>?
        /// By ticket, which tells who came first.
        var waiters: [UInt64: Reply<StepResponse>] = [:]
    }

    private struct State {
        var flights: [Key: Flight] = [:]
        var lastTicket: UInt64 = 0
    }

    private let state = Locked(State())

    /// With nobody on the way.
    public init() {}

    /// The answer to the request, or to one like it that is under way.
    public func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
        guard let depth = next.depth, let origin = context.call.origin, context.call.isCollected,
            let requestKey = SingleFlightKey(request)
        else { return try await next(request) }
        let key = Key(
            request: requestKey, session: ObjectIdentifier(context.call.engine),
            steps: request.attachment.map { ObjectIdentifier($0) },
            extras: request.extras.map { ObjectIdentifier($0) }, depth: depth)
        defer { context.call.record.withLock { $0.wait = nil } }
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        return try await withTaskCancellationHandler {
            try await withReply { reply in
                join(key, ticket, reply, context) { origin.sharedCall(for: request, depth: depth, of: context.call) }
                // It may have been cancelled before there was anybody to leave.
                if Task.isCancelled { leave(key, ticket) }
            }
        } onCancel: {
            leave(key, ticket)
        }
    }

    /// How many wait for answers.
    var waitingCount: Int { state.withLock { $0.flights.values.reduce(0) { $0 + $1.waiters.count } } }

    private func join(
        _ key: Key, _ ticket: UInt64, _ reply: Reply<StepResponse>, _ context: CallContext,
        _ makeCall: () -> any SharedCall
    ) {
        let (call, isNew) = state.withLock { state in
            let known = state.flights[key]?.call
            let call = known ?? makeCall()
            // In its place: a copy would be one of all who wait.
            state.flights[key, default: Flight(call: call)].waiters[ticket] = reply
            return (call, known == nil)
        }
        context.call.record.withLock { $0.wait = .sharedAnswer(since: context.now) }
        context.call.observer?.tell(.joined(callID: call.id))
        if isNew { depart(key, call) }
    }

    /// Sends the request, in a task that no waiter's cancellation reaches.
    private func depart(_ key: Key, _ call: any SharedCall) {
        let task = Task(executorPreference: globalConcurrentExecutor) { [self] in
            let result: Result<StepResponse, any Error>
            do { result = .success(try await call.answer().inMemory()) } catch { result = .failure(error) }
            land(key, call.id, result)
        }
        let isWanted = state.withLock { state in
            guard state.flights[key]?.call.id == call.id else { return false }
            state.flights[key]?.task = task
            return true
        }
        // Everybody has left already, or it has landed.
        if !isWanted { task.cancel() }
    }

    private func land(_ key: Key, _ id: UInt64, _ result: Result<StepResponse, any Error>) {
        let none: [UInt64: Reply<StepResponse>] = [:]
        let waiters = state.withLock { state in
            guard let flight = state.flights[key], flight.call.id == id else { return none }
            state.flights[key] = nil
            return flight.waiters
        }
        for (_, reply) in waiters.sorted(by: { $0.key < $1.key }) { reply.resume(with: result) }
    }

    private func leave(_ key: Key, _ ticket: UInt64) {
        let (reply, task) = state.withLock { state -> (Reply<StepResponse>?, Task<Void, Never>?) in
            guard let reply = state.flights[key]?.waiters.removeValue(forKey: ticket) else { return (nil, nil) }
            guard let flight = state.flights[key], flight.waiters.isEmpty else { return (reply, nil) }
            state.flights[key] = nil
            return (reply, flight.task)
        }
        task?.cancel()
        reply?.resume(with: .failure(CancellationError()))
    }
}

extension StepResponse {
    /// The same, read whole: a source is read once, and a body in memory by as many as like.
    fileprivate func inMemory() async throws -> StepResponse {
        if data != nil { return self }
        return StepResponse(response: response, body: try await body.collect(upTo: .max))
    }
}
