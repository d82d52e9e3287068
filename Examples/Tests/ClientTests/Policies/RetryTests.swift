import Foundation
import Testing

/// `--retries`.
@Suite(.timeLimit(.minutes(15))) struct RetryTests {
    @Test func aRequestIsRepeatedUntilItSucceeds() async throws {
        let run = try await report(["\(url)/flaky/2?enough-retries", "--retries", "2"])
        #expect(run.report.values("status", "attempts", "body.bytes") == [200, 3, 8])
    }

    @Test func theLastAnswerIsReportedAfterTooFewRetries() async throws {
        let run = try await report(["\(url)/flaky/2?too-few-retries", "--retries", "1"])
        #expect(run.report.values("status", "attempts") == [503, 2])
    }

    @Test func aRequestIsNotRepeatedUnasked() async throws {
        let run = try await report(["\(url)/flaky/1?no-retries"])
        #expect(run.report.values("status", "attempts") == [503, 1])
    }

    @Test func aRequestThatMayHaveDoneSomethingIsNotRepeated() async throws {
        let run = try await report(["\(url)/flaky/1?a-post-is-not-repeated", "--retries", "2", "-d", "a"])
        #expect(run.report.values("status", "attempts") == [503, 1])
    }
}
