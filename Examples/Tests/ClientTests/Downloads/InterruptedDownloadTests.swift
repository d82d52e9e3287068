import Foundation
import Testing

/// Downloads that are cut or interrupted, and go on, by themselves or with `--resume`; and downloads in several connections.
@Suite(.timeLimit(.minutes(60))) struct InterruptedDownloadTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Expects that the folder, or another one, has a complete file and nothing else.
    private func expectFile(
        _ size: Int, in other: TemporaryFolder? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let folder = other ?? self.folder
        #expect(try folder.names() == ["a"], sourceLocation: sourceLocation)
        let isComplete = try folder.data(of: "a") == RangedFile.bytes(size)
        #expect(isComplete, sourceLocation: sourceLocation)
    }

    private static func checksum(_ size: Int) async throws -> String {
        "sha256:\(try await sha256(RangedFile.bytes(size)))"
    }

    @Test func aDownloadGoesOnAfterEachCut() async throws {
        let checksum = try await Self.checksum(1_100_001)
        let run = try await client(["\(url)/ranges/1100001/cut-4", "-o", folder["a"], "--checksum", checksum])
        #expect(run.status == 0, "\(run.errors)")
        try expectFile(1_100_001)
    }

    @Test func aDownloadThatNeverGetsFurtherEnds() async throws {
        let run = try await report(["\(url)/cut", "-o", folder["a"]], status: 1)
        #expect(run.report.values("error.kind", "error.attempts") == ["truncated_body", 3])
    }

    @Test(arguments: [0, 1, 3]) func retriesBoundADownloadThatNeverGetsFurther(_ retries: Int) async throws {
        let run = try await report(["\(url)/cut", "-o", folder["a"], "--retries", "\(retries)"], status: 1)
        #expect(run.report["error"]["attempts"] == .integer(retries + 1))
    }

    @Test func retriesBoundADownloadThatGetsFurther() async throws {
        let run = try await report(
            ["\(url)/ranges/1100002/cut-9", "-o", folder["a"], "--retries", "2"], status: 1)
        #expect(run.report.values("error.kind", "error.attempts") == ["truncated_body", 3])
    }

    @Test func enoughRetriesCompleteADownload() async throws {
        let run = try await report(["\(url)/ranges/1100003/cut-3", "-o", folder["a"], "--retries", "3"])
        #expect(run.report["ok"] == true)
        try expectFile(1_100_003)
    }

    @Test func aDownloadThatIsTooLargeEndsAtOnce() async throws {
        let run = try await report(
            ["\(url)/ranges/1100004/cut-4", "-o", folder["a"], "--max-body", "600000"], status: 1)
        #expect(run.report.values("error.kind", "error.attempts") == ["body_too_large", 1])
    }

    @Test func aDownloadMayBeAsLargeAsTheLimit() async throws {
        let run = try await report(["\(url)/ranges/1100005/cut-2", "-o", folder["a"], "--max-body", "1100005"])
        #expect(run.report["ok"] == true)
    }

    @Test func controlCKeepsAPartThatIsNotUsedForAnotherURL() async throws {
        let folder = try TemporaryFolder(isInMemory: true)
        let running = try await startInTurn(["\(url)/ranges/1100006/stuck", "-o", folder["a"]])
        try await running.downloads(1, into: folder)
        running.interrupt()
        let interrupted = try await running.ended()
        #expect(interrupted.status == 130)
        #expect(try folder.names() == [".a.trellis-note", ".a.trellis-part"])
        #expect(interrupted.errors.lines(with: "kept: the same command with --resume goes on").count == 1)

        let checksum = try await Self.checksum(1_100_006)
        let run = try await report(
            ["\(url)/ranges/1100006", "-o", folder["a"], "--resume", "--checksum", checksum])
        #expect(run.report["status"] == 200)
        try expectFile(1_100_006, in: folder)
    }

    @Test func aDownloadGoesOnAfterAKill() async throws {
        let arguments = ["\(url)/ranges/1100007/once-stuck", "-o", folder["a"]]
        let running = try start(arguments)
        try await running.downloads(1, into: folder)
        running.kill()
        let killed = try await running.ended()
        #expect(killed.status == 137)

        let run = try await report(arguments + ["--resume"])
        #expect(run.report.values("ok", "status", "body.bytes") == [true, 206, 1_100_007])
        try expectFile(1_100_007)
    }

    @Test func severalConnectionsMakeOneFile() async throws {
        let checksum = try await Self.checksum(1_100_008)
        let run = try await client(
            ["\(url)/ranges/1100008", "-o", folder["a"], "--connections", "4", "--checksum", checksum])
        #expect(run.status == 0, "\(run.errors)")
        try expectFile(1_100_008)
    }
}
