import CurlEngine

/// A step that sends equal requests once: all callers at that time get the response.
///
/// ```swift
/// configuration.steps.application.append(RequestCoalescing())
/// ```
///
/// Equal requests are `GET` or `HEAD` without a body, with the same URL, fields, limits and options. A request with ``Request/steps`` is
/// equal to its copies alone. Streams are sent separately.
///
/// Put the step first among ``Steps/application``, so that the steps after it run once for all callers. Adapters run once too, with the
/// task-local values of the first caller: do not coalesce if an adapter reads a user's credentials from there. Setting
/// ``AuthenticationInterceptor/credential`` separates later calls from earlier ones.
///
/// The shared request has its own ``RequestEvent/callID``:
///
/// - A caller that is cancelled, or whose time is over, leaves alone. The request ends with its last caller.
/// - The shared call has no total limit; the other ``Timeouts`` hold.
/// - Its failure is the failure of all callers, and its metrics are in all responses.
public final class RequestCoalescing: ResponseForwardingStep {
    /// The identity of a shared call: requests with equal keys share a response.
    private struct Key: Hashable {
        let request: CoalescingKey
        /// The session, by its engine thread.
        let session: ObjectIdentifier
        /// The steps and extras of the request itself. The flight retains them, so that no other object gets the same identifier
        /// meanwhile.
        let steps: ObjectIdentifier?
        let extras: ObjectIdentifier?
        /// The number of application steps that have run.
        let depth: Int
        /// The epoch of the credentials that adapters add to the request: a request with the credential that was replaced is
        /// not the same.
        let credentialEpoch: Int
        /// The transport that takes the place of the session's: a test gets no response of another test's transport.
        let transport: ObjectIdentifier?
    }

    /// A call that waits for the response.
    private struct Waiter {
        let reply: Reply<StepResponse>
        let call: Call

        /// Takes note that the call waits no more, before its task runs: a test clock must not move until then.
        func forget() { call.record.withLock { $0.wait = nil } }
    }

    /// A shared call under way, with its waiters.
    private struct Flight {
        let call: SharedCall
        var task: Task<Void, Never>?
        /// The waiters by ticket; tickets are numbered in the order of arrival.
        var waiters: [UInt64: Waiter] = [:]
    }

    private struct State {
        var flights: [Key: Flight] = [:]
        var lastTicket: UInt64 = 0
    }

    private let state = Locked(State())

    /// Creates a step without a request under way.
    public init() {}

    /// Returns the response to the request, or to an equal request that is under way.
    ///
    /// - Throws: The errors of the request, or of the equal request.
    public func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
        guard let depth = next.depth, let steps = next.origin?.steps, let sender = context.call.sender,
            context.call.delivery == .memory, let requestKey = CoalescingKey(request)
        else { return try await next(request) }
        let key = Key(
            request: requestKey, session: ObjectIdentifier(sender), steps: request.attachedSteps?.identity,
            extras: request.extras.map { ObjectIdentifier($0) }, depth: depth,
            credentialEpoch: steps.steps.adapters.credentialEpoch,
            transport: context.call.transportOverride.map { ObjectIdentifier($0) })
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        return try await withTaskCancellationHandler {
            try await withReply { reply in
                join(key, as: ticket, with: reply, in: context) { sender.sharedCall(for: request, steps, depth: depth) }
                // The task may have been cancelled before there was a waiter to remove.
                if Task.isCancelled { leave(key, ticket) }
            }
        } onCancel: {
            leave(key, ticket)
        }
    }

    /// The number of waiters for responses.
    var waitingCount: Int { state.withLock { $0.flights.values.reduce(0) { $0 + $1.waiters.count } } }

    /// Adds a waiter to the flight of its key, and sends the request if the flight is new.
    private func join(
        _ key: Key, as ticket: UInt64, with reply: Reply<StepResponse>, in context: CallContext,
        _ makeCall: () -> SharedCall
    ) {
        let now = context.now
        let (call, isNew) = state.withLock { state in
            let known = state.flights[key]?.call
            let call = known ?? makeCall()
            // The flight is changed in place: a copy would copy all waiters.
            state.flights[key, default: Flight(call: call)].waiters[ticket] = Waiter(reply: reply, call: context.call)
            context.call.record.withLock { $0.wait = .sharedAnswer(since: now, of: call.id) }
            return (call, known == nil)
        }
        context.call.observer?.tell(.coalesced(callID: call.id))
        if isNew { depart(key, call) }
    }

    /// Sends the request in a task that no waiter's cancellation reaches.
    private func depart(_ key: Key, _ call: SharedCall) {
        let task = Task(executorPreference: globalConcurrentExecutor) { [self] in
            let result: Result<StepResponse, any Error>
            do { result = .success(try await call.answer().inMemory()) } catch { result = .failure(error) }
            land(key, id: call.id, result)
        }
        let isWanted = state.withLock { state in
            guard state.flights[key]?.call.id == call.id else { return false }
            state.flights[key]?.task = task
            return true
        }
        // All waiters have left already, or the request has ended.
        if !isWanted { task.cancel() }
    }

    /// Ends a flight, and resumes its waiters with the result in the order of their arrival.
    private func land(_ key: Key, id: UInt64, _ result: Result<StepResponse, any Error>) {
        let none: [UInt64: Waiter] = [:]
        let waiters = state.withLock { state in
            guard let flight = state.flights[key], flight.call.id == id else { return none }
            state.flights[key] = nil
            return flight.waiters
        }
        for waiter in waiters.values { waiter.forget() }
        for (_, waiter) in waiters.sorted(by: { $0.key < $1.key }) { waiter.reply.resume(with: result) }
    }

    /// Removes a waiter, and cancels the request if no waiter is left.
    private func leave(_ key: Key, _ ticket: UInt64) {
        let (waiter, task) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
            guard let waiter = state.flights[key]?.waiters.removeValue(forKey: ticket) else { return (nil, nil) }
            guard let flight = state.flights[key], flight.waiters.isEmpty else { return (waiter, nil) }
            state.flights[key] = nil
            return (waiter, flight.task)
        }
        task?.cancel()
        waiter?.forget()
        waiter?.reply.resume(with: .failure(CancellationError()))
    }
}

extension StepResponse {
    /// Returns the response with its complete body in memory: a source is read once, a body in memory any number of times.
    fileprivate func inMemory() async throws -> StepResponse {
        if data != nil { return self }
        return replacing(response, .data(try await body.collect(upTo: .max)))
    }
}
