import CurlEngine

/// The attempts of a hedged request, and the delay behind which there is one more.
struct HedgeRace: Sendable {
    /// What an attempt comes to.
    typealias Ending = Result<StepResponse, any Error>

    private enum Turn: Sendable {
        case ended(Ending)
        case delayIsOver
    }

    let policy: HedgingPolicy
    let request: Request
    let attempt: @Sendable (CallContext) async -> Ending

    /// Runs attempts until one of them has an answer.
    ///
    /// They run in tasks of their own: nobody waits for one that has lost and does not notice its cancellation.
    ///
    /// - Parameter context: That of the first attempt; behind it, that of the last.
    func run(_ context: inout CallContext) async -> Ending {
        recordRequest(context)
        let (turns, news) = AsyncStream.makeStream(of: Turn.self)
        let startsBefore = context.call.starts?.value ?? 0
        var tasks = [start(context, news), wait(context, news)]
        defer { for task in tasks { task.cancel() } }
        var (begun, ended, weak) = (1, 0, Ending?.none)
        for await turn in turns {
            switch turn {
            case .ended(let ending):
                ended += 1
                guard HedgingPolicy.isWeak(ending) else { return ending }
                let best = HedgingPolicy.better(weak, ending)
                if ended == begun { return best }
                weak = best
            case .delayIsOver:
                let areAllOut = (context.call.starts?.value ?? 0) - startsBefore >= begun
                if areAllOut {
                    guard mayBeginAnother(context) else { continue }
                    context.call.observer?.tell(.hedging(after: policy.delay))
                    context.attempt += 1
                    context.hedges += 1
                    context.call.observer?.begin(attempt: context.attempt)
                    begun += 1
                    tasks.append(start(context, news))
                }
                if context.hedges < policy.maximumExtraAttempts { tasks.append(wait(context, news)) }
            }
        }
        return .failure(CancellationError())
    }

    private func start(_ context: CallContext, _ news: AsyncStream<Turn>.Continuation) -> Task<Void, Never> {
        Task(executorPreference: globalConcurrentExecutor) { news.yield(.ended(await attempt(context))) }
    }

    private func wait(_ context: CallContext, _ news: AsyncStream<Turn>.Continuation) -> Task<Void, Never> {
        Task(executorPreference: globalConcurrentExecutor) { [delay = policy.delay] in
            do { try await context.wait(for: delay) } catch { return }
            news.yield(.delayIsOver)
        }
    }

    private func mayBeginAnother(_ context: CallContext) -> Bool {
        let sent = context.call.record.withLock { $0.sent?.transportRequest.request }
        return context.hedges < policy.maximumExtraAttempts && policy.mayHedge(request, sent: sent)
            && policy.budget?.withdraw(for: request) ?? true
    }

    /// Where a retry policy has the same budget, it does that itself.
    private func recordRequest(_ context: CallContext) {
        guard context.attempt == 1, let budget = policy.budget else { return }
        let isRecorded = context.call.surroundings.steps.adapters.contains { ($0 as? RetryPolicy)?.budget === budget }
        if !isRecorded { budget.recordRequest(request) }
    }
}
