import TerminalKit
import Trellis

/// The part about retries: a request that a busy server refuses is sent again, after a longer delay each time.
struct Retry: Part {
    let title = "A retry"

    func run(with guide: Guide, on server: TourServer) async throws {
        let start = ContinuousClock.now
        let request = Request(server.url("/busy")).withInterceptor(RetryPolicy())
        let (data, response) = try await guide.session.data(request)
        let elapsed = ContinuousClock.now - start
        let attempts = response.metrics.attemptCount
        try expect(response.status == .ok && attempts == 3, "\(response.status) after \(attempts) attempts")
        let text = String(decoding: data, as: UTF8.self).split(separator: "\n").joined()
        guide.say("503 twice, so \(attempts) attempts in \(elapsed.forPeople), and then: \(text)")
    }
}
