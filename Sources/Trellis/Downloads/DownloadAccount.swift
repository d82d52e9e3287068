import CurlEngine

/// What a download takes, over all of its requests.
final class DownloadAccount: Sendable {
    private struct State: Sendable {
        var start: EngineInstant?
        var request: Request?
        var tally = DownloadTally()
        /// How often the download asked whether it may go on.
        var goings = 0
    }

    private let clock: any EngineClock
    private let state = Locked(State())

    init(clock: any EngineClock) { self.clock = clock }

    /// The download starts.
    func start() {
        let now = clock.now()
        state.withLock { $0.start = now }
    }

    /// What is asked for.
    func begin(_ request: Request) { state.withLock { $0.request = request } }

    /// Whether the download may go on once more; counts.
    func mayGoOn(atMost maximum: Int?) -> Bool {
        state.withLock { state in
            state.goings += 1
            return state.goings <= maximum ?? .max
        }
    }

    /// The download was interrupted, and goes on.
    func interrupt() { state.withLock { $0.tally.interruptions += 1 } }

    var interruptions: Int { state.withLock { $0.tally.interruptions } }

    /// What all of it took up to now.
    var metrics: Metrics {
        let (tally, start) = state.withLock { ($0.tally, $0.start) }
        return tally.metrics(total: elapsed(since: start))
    }

    private func elapsed(since start: EngineInstant?) -> Duration {
        start.map { .nanoseconds(clock.now().nanoseconds(since: $0)) } ?? .zero
    }

    /// The error, with what is known of the download.
    func complete(_ error: any Error) -> any Error {
        guard var failure = error as? TrellisError else { return error }
        let (tally, start, request) = state.withLock { ($0.tally, $0.start, $0.request) }
        tally.complete(&failure, total: elapsed(since: start))
        guard failure.url == nil, let request else { return failure }
        failure.method = request.method
        failure.url = URLRedaction.redact(request.url)
        return failure
    }

    /// Asks, deals with the answer, and keeps account of what that took.
    func asking<Value>(
        _ request: Request, of session: Session, _ body: (StreamResponse) async throws -> Value
    ) async throws -> Value {
        let answer: StreamResponse
        do {
            answer = try await session.open(request, isInFlight: true)
        } catch {
            if let error = error as? TrellisError {
                state.withLock { $0.tally.end(error.metrics, error.redirects) }
            }
            throw error
        }
        state.withLock { $0.tally.begin(answer.head.metrics) }
        let result: Result<Value, any Error>
        do { result = .success(try await body(answer)) } catch { result = .failure(error) }
        // What nobody wants any more.
        answer.cancel()
        let metrics = await answer.source.spent ?? answer.head.metrics
        state.withLock { $0.tally.end(metrics, answer.head.redirects) }
        return try result.get()
    }
}
