import Foundation
import Testing

/// Failures of requests, and their reports.
@Suite(.timeLimit(.minutes(60))) struct FailureTests {
    @Test func aRefusedConnectionIsReportedAndIsOneLineOfTheErrors() async throws {
        let run = try await report(["http://127.0.0.1:1/"], status: 1)
        #expect(
            run.report.values("ok", "status", "error.kind", "error.retryable", "error.attempts") == [
                false, .null, "connect", true, 1,
            ])
        #expect(run.errors.lines.count == 1)
    }

    // MARK: Requests that cannot be sent

    @Test(arguments: ["GET", "", "ftp://127.0.0.1/"])
    func aURLThatCannotBeRequestedIsAFailure(wrong: String) async throws {
        let run = try await report([wrong], status: 1)
        #expect(run.report["error"]["kind"] == "invalid_url")
    }

    @Test(arguments: [256, 70000]) func aURLWhoseHostIsTooLongIsAFailure(length: Int) async throws {
        let run = try await report(["http://\(String(repeating: "a", count: length))/"], status: 1)
        #expect(run.report["error"]["kind"] == "invalid_url")
    }

    @Test(arguments: [
        "https://ann:s3cret#2@host/", "ann:s3cret@host/x?next=https://y", "ftp://host/x?token=s3cret&next=https://y",
    ])
    func theErrorAboutAWrongURLDoesNotShowItsSecret(wrong: String) async throws {
        let run = try await report([wrong], status: 1)
        #expect(run.report["error"]["kind"] == "invalid_url")
        #expect(run.errors != "" && !run.errors.contains("s3cret"))
    }

    @Test(arguments: [["-X", "A B"], ["-H", "X: a\r\nY: b"]])
    func aMethodOrAFieldThatCannotBeSentIsAFailure(options: [String]) async throws {
        let run = try await report(["\(url)/"] + options, status: 1)
        #expect(run.report["error"]["kind"] == "invalid_request")
    }

    @Test func aBodyThatIsNoFileIsAFailure() async throws {
        let folder = try TemporaryFolder()
        for path in [folder["missing"], folder.path] {
            let run = try await report(["\(url)/echo", "-d", "@\(path)"], status: 1)
            #expect(run.report["error"]["kind"] == "file", "\(path)")
        }
    }

    // MARK: Responses

    @Test(arguments: ["status", "field", "name", "fold", "line", "size", "chunk", "trailer", "trailer-fold"])
    func aMalformedResponseIsAFailure(part: String) async throws {
        let run = try await report(["\(url)/malformed/\(part)"], status: 1)
        #expect(run.report["error"]["kind"] == "malformed_response")
    }

    @Test func aBodyThatIsTooLargeIsAFailure() async throws {
        let run = try await report(["\(url)/bytes/3000000", "--max-body", "1000"], status: 1)
        #expect(run.report["error"]["kind"] == "body_too_large")
    }

    @Test func aBodyCutShortIsReportedWithWhatCame() async throws {
        let run = try await report(["\(url)/cut"], status: 1)
        #expect(run.report.values("error.kind", "status") == ["truncated_body", 200])
        #expect(run.bodyText == "only this")
    }

    @Test func whatCameBeforeAFailureIsPrinted() async throws {
        let run = try await client(["\(url)/cut"])
        #expect(run.text == "only this" && run.status == 18)
    }

    @Test func aConnectionThatEndsWithoutAResponseHasAStatusOfItsOwn() async throws {
        let run = try await client(["\(url)/nothing"])
        #expect(run.text == "" && run.status == 52, "\(run.errors)")
    }

    @Test func aFullDiskIsAFailure() async throws {
        let run = try await shell(#""$trellis" "$1" >/dev/full"#, ["\(url)/"])
        #expect(run.status == 23 && run.errors.lines.count == 1, "\(run.errors)")
    }

    // MARK: The end of patience

    @Test func aDeadlineEndsTheWaitForAResponse() async throws {
        let run = try await report(["\(url)/silence", "--deadline", "0.3"], status: 1)
        #expect(run.report["error"]["kind"] == "timeout_deadline")
    }

    @Test func theIdleTimeoutEndsTheWaitForAResponse() async throws {
        let run = try await report(["\(url)/silence", "--idle-timeout", "0.3"], status: 1)
        #expect(run.report["error"]["kind"] == "timeout_idle")
    }

    @Test func aCancellationEndsTheWaitForAResponse() async throws {
        let run = try await report(["\(url)/silence", "--cancel-after", "0.2"], status: 1)
        #expect(run.report.values("error.kind", "status") == ["cancelled", .null])
    }

    @Test(arguments: [("--deadline", "timeout_deadline"), ("--cancel-after", "cancelled")])
    func aBodyThatStopsIsReportedWithWhatCameWithinTheLimit(option: String, kind: JSON) async throws {
        // A slow machine gets more time for the bytes to come.
        for limit in ["0.3", "3", "30"] {
            let run = try await report(["\(url)/stuck", option, limit], status: 1)
            guard limit == "30" || run.report["body"]["bytes"] == 9 else { continue }
            #expect(run.report.values("error.kind", "status", "body.bytes") == [kind, 200, 9])
            break
        }
    }
}
