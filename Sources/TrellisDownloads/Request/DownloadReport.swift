import CurlEngine
import TrellisCore

/// The record of the interruptions, metrics and redirects of a download over all of its requests.
final class DownloadReport: Sendable {
    private struct State: Sendable {
        var start: EngineInstant?
        var request: Request?
        var totals = DownloadTotals()
        /// The number of resumptions that were counted.
        var resumptions = 0
    }

    private let clock: any EngineClock
    /// Totals under a lock, because the connections of a download in parts report at the same time.
    private let state = Locked(State())

    init(clock: any EngineClock) { self.clock = clock }

    /// Records the start of the download.
    func start() {
        let now = clock.now()
        state.withLock { $0.start = now }
    }

    /// Records the request, which later errors name.
    func begin(_ request: Request) { state.withLock { $0.request = request } }

    /// Counts a resumption of the download, and returns whether it is within the limit.
    func mayResume(atMost maximum: Int?) -> Bool {
        state.withLock { state in
            state.resumptions += 1
            return state.resumptions <= maximum ?? .max
        }
    }

    /// Records an interruption after which the download resumes.
    func interrupt() { state.withLock { $0.totals.interruptions += 1 } }

    var interruptions: Int { state.withLock { $0.totals.interruptions } }

    /// The metrics of all requests up to now.
    var metrics: Metrics {
        let (totals, start) = state.withLock { ($0.totals, $0.start) }
        return totals.metrics(total: elapsed(since: start))
    }

    private func elapsed(since start: EngineInstant?) -> Duration {
        start.map { .nanoseconds(clock.now().nanoseconds(since: $0)) } ?? .zero
    }

    /// Returns the error completed with the totals, the method and the URL of the download.
    func complete(_ error: any Error) -> any Error {
        guard var failure = error as? TrellisError else { return error }
        let (totals, start, request) = state.withLock { ($0.totals, $0.start, $0.request) }
        totals.complete(&failure, total: elapsed(since: start))
        guard failure.url == nil, let request else { return failure }
        failure.method = request.method
        failure.url = URLRedaction.redact(request.url)
        return failure
    }

    /// Sends a request, calls `body` with its response, and records the metrics of both.
    func send<Value>(
        _ request: Request, in session: Session, _ body: (StreamResponse) async throws -> Value
    ) async throws -> Value {
        let answer: StreamResponse
        do {
            answer = try await session.open(request, isInFlight: true)
        } catch {
            if let error = error as? TrellisError {
                state.withLock { $0.totals.end(error.metrics, error.redirects) }
            }
            throw error
        }
        state.withLock { $0.totals.begin(answer.response.metrics) }
        let result: Result<Value, any Error>
        do { result = .success(try await body(answer)) } catch { result = .failure(error) }
        // `body` may have left a rest of the body that is not needed.
        answer.cancel()
        let metrics = await answer.source.metrics ?? answer.response.metrics
        state.withLock { $0.totals.end(metrics, answer.response.redirects) }
        return try result.get()
    }
}
