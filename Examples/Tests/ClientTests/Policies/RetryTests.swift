import Foundation
import Testing

/// `--retries`.
@Suite(.timeLimit(.minutes(60))) struct RetryTests {
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

    /// `--retry-all-errors` without `--fail` takes no status for a failure, except for the usual ones.
    @Test(arguments: [
        ("flaky/1?a-post-is-repeated", ["-d", "a"], 0, 2), ("malformed/status", [], 1, 3),
        ("status/404?fails", ["--fail"], 22, 3), ("status/404?fails-too", ["--validate"], 22, 3),
        ("status/404?is-an-answer", [], 0, 1),
    ])
    func everyFailureIsRetriedIfAsked(
        _ path: String, _ options: [String], _ status: Int32, _ attempts: Int
    ) async throws {
        let retries = ["--retry", "2", "--retry-delay", "0.01"]
        let run = try await report(["\(url)/\(path)", "--retry-all-errors"] + retries + options, status: status)
        #expect(run.report["attempts"] == .integer(attempts), "\(run.text)")
        let other = "\(url)/\(path)\(path.contains("?") ? "&" : "?")usual"
        let usual = try await report([other] + retries + options, status: path.hasPrefix("flaky") ? 0 : status)
        #expect(usual.report["attempts"] == 1, "\(usual.text)")
    }
}
