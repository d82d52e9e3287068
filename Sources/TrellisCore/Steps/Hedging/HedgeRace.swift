import CurlEngine

/// The attempts of a hedged request, and the delay after which another one begins.
struct HedgeRace: Sendable {
    /// An event of the race.
    private enum Turn: Sendable {
        case ended(AttemptEnd)
        case delayIsOver
    }

    let policy: HedgingPolicy
    let request: Request
    /// The last request of the call.
    let last: LastRequest
    let attempt: @Sendable (CallContext) async -> AttemptEnd

    /// Runs attempts until one of them has a response.
    ///
    /// The attempts run in separate tasks: the call does not wait for an attempt that has lost and ignores its cancellation.
    ///
    /// - Parameter context: The context of the first attempt.
    /// - Returns: The end of the attempt that won. Its context is the last hop's, with the counts of all
    ///   attempts.
    func run(_ context: CallContext) async -> AttemptEnd {
        var context = context
        recordRequest(context)
        let (turns, news) = AsyncStream.makeStream(of: Turn.self)
        let startsBefore = context.call.starts?.value ?? 0
        let call = context.call
        var (tasks, handled) = ([start(context, news), wait(context, news)], 0)
        // A call at rest waits in each task whose turn has not been handled, and not here.
        call.changeWaitsAtRest(by: -1)
        defer {
            for task in tasks { task.cancel() }
            call.changeWaitsAtRest(by: 1 - (tasks.count - handled))
        }
        var (begun, ended, weak) = (1, 0, AttemptEnd?.none)
        for await turn in turns {
            switch turn {
            case .ended(let end):
                ended += 1
                let end = end.counting(context)
                guard HedgingPolicy.isWeak(end.result) else { return end }
                let best = HedgingPolicy.better(weak, end).counting(context)
                if ended == begun { return best }
                weak = best
            case .delayIsOver:
                let areAllOut = (context.call.starts?.value ?? 0) - startsBefore >= begun
                if areAllOut {
                    guard mayBeginAnother(context) else { break }
                    context.call.observer?.tell(.hedging(after: policy.delay))
                    context.attempt += 1
                    context.hedges += 1
                    context.call.observer?.begin(attempt: context.attempt)
                    begun += 1
                    tasks.append(start(context, news))
                }
                if context.hedges < policy.maximumExtraAttempts { tasks.append(wait(context, news)) }
            }
            handled += 1
            call.changeWaitsAtRest(by: -1)
        }
        return AttemptEnd(result: .failure(CancellationError()), context: context, last: last)
    }

    private func start(_ context: CallContext, _ news: AsyncStream<Turn>.Continuation) -> Task<Void, Never> {
        context.call.changeWaitsAtRest(by: 1)
        return Task(executorPreference: globalConcurrentExecutor) { news.yield(.ended(await attempt(context))) }
    }

    private func wait(_ context: CallContext, _ news: AsyncStream<Turn>.Continuation) -> Task<Void, Never> {
        context.call.changeWaitsAtRest(by: 1)
        return Task(executorPreference: globalConcurrentExecutor) { [delay = policy.delay] in
            do { try await context.pause(for: delay) } catch { return }
            news.yield(.delayIsOver)
        }
    }

    /// Returns whether another attempt may begin; takes it from the budget.
    private func mayBeginAnother(_ context: CallContext) -> Bool {
        context.hedges < policy.maximumExtraAttempts && policy.mayHedge(request, sent: last.value.sentRequest)
            && policy.budget?.withdraw(for: request) ?? true
    }

    /// Records the request in the budget. A retry policy with the same budget does not record it again.
    private func recordRequest(_ context: CallContext) {
        if context.attempt == 1 { policy.budget?.recordRequest(request, of: context.call) }
    }
}

extension AttemptEnd {
    /// Returns the same end, with the counts of all attempts.
    fileprivate func counting(_ all: CallContext) -> AttemptEnd {
        var end = self
        end.context.attempt = all.attempt
        end.context.hedges = all.hedges
        return end
    }
}
