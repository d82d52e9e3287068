import Foundation
import Testing

/// `--validate`: a status or a type that is not accepted is a failure.
@Suite(.timeLimit(.minutes(60))) struct ValidationTests {
    private static func outcome(_ run: Run) -> JSON {
        run.report.values("ok", "status", "error.kind", "error.retryable", "error.attempts")
    }

    @Test func anAcceptableResponse() async throws {
        let run = try await report(["\(url)/", "--validate"])
        #expect(run.report.values("ok", "body.bytes", "error") == [true, 11, .null])
    }

    @Test func status404IsAFailureWithTheResponse() async throws {
        let run = try await report(["\(url)/nowhere", "--validate"], status: 1)
        #expect(Self.outcome(run) == [false, 404, "unacceptable_status", false, 1])
        #expect(run.bodyText == "nothing here\n")
        #expect(run.report["headers"].elements.filter { $0[0] == "Content-Type" }.count == 1)
        #expect(run.report["metrics"]["total_s"].double > 0)
    }

    @Test func status503CanBeTriedAgain() async throws {
        let run = try await report(["\(url)/status/503", "--validate"], status: 1)
        #expect(Self.outcome(run) == [false, 503, "unacceptable_status", true, 1])
    }

    @Test func aTypeThatIsNotAccepted() async throws {
        let run = try await report(["\(url)/binary", "--validate", "-H", "Accept: text/*"], status: 1)
        #expect(Self.outcome(run) == [false, 200, "unacceptable_content_type", false, 1])
    }

    @Test func aTypeThatIsAccepted() async throws {
        let run = try await report(["\(url)/binary", "--validate", "-H", "Accept: text/plain, image/*;q=0.1"])
        #expect(run.report.values("ok", "body.bytes") == [true, 256])
    }

    @Test func linesThatAreNotAccepted() async throws {
        let run = try await report(["\(url)/nowhere", "--validate", "--stream", "lines"], status: 1)
        #expect(run.report.values("items", "error.kind") == [[], "unacceptable_status"])
    }

    @Test func aRefusedBodyThatStops() async throws {
        let run = try await report(["\(url)/stuck", "--validate", "-H", "Accept: text/html"], status: 1)
        #expect(run.report.values("error.kind", "body.bytes") == ["unacceptable_content_type", 9])
    }

    @Test func aRefusedBodyBeginsInTheErrorAndIsNoOutput() async throws {
        let run = try await client(["\(url)/nowhere", "--validate"])
        #expect(run.status == 22)
        #expect(run.text == "")
        #expect(run.errors.lines.filter { $0.contains(/404.*nothing here/) }.count == 1)
    }
}
