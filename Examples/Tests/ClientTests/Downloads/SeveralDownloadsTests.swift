import Foundation
import Testing

/// Several files at a time, into a folder, under the names that the server gives them.
@Suite(.timeLimit(.minutes(60))) struct SeveralDownloadsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func theFolderIsMadeAndHasTheFilesOfAllURLs() async throws {
        let run = try await client(["\(url)/bytes/100000", "\(url)/ranges/1100009", "-o", folder["files/"]])
        #expect(run.status == 0)
        #expect(run.text == "" && run.messages == [])
        let names = try FileManager.default.contentsOfDirectory(atPath: folder["files"]).sorted()
        #expect(names == ["100000", "1100009"])
        #expect(try folder.data(of: "files/100000").count == 100_000)
        #expect(try folder.data(of: "files/1100009").count == 1_100_009)
    }

    @Test func aFileOfTheSameNameStays() async throws {
        try folder.write("old", to: "100000")
        let run = try await client(["\(url)/bytes/100000", "-o", folder.path])
        #expect(run.status == 23)
        #expect(run.errors.lines(with: "\(folder["100000"]) already").count == 1)
        #expect(try folder.text(of: "100000") == "old")
    }

    @Test func aFailureLeavesTheOtherFiles() async throws {
        let run = try await client([
            "\(url)/bytes/1000", "\(url)/status/404", "\(url)/bytes/2000", "-o", folder.path, "--validate",
        ])
        #expect(run.status == 22)
        #expect(try folder.names() == ["1000", "2000"])
        #expect(run.messages.count { $0.hasPrefix("trellis: 404: ") } == 1)
    }

    /// The other transfers would not end by themselves.
    @Test func theFirstFailureEndsTheOthersIfAsked() async throws {
        let run = try await client([
            "\(url)/ranges/1100011/stuck", "\(url)/status/404", "\(url)/ranges/2200012/stuck", "-o", folder.path,
            "--fail-early",
        ])
        #expect(run.status == 22)
        #expect(run.messages.count { $0.hasPrefix("trellis: 404: ") } == 1)
        #expect(run.errors.lines(with: "cancelled") == [])
    }

    @Test func eachFileHasAReport() async throws {
        let run = try await client([
            "\(url)/bytes/1000", "\(url)/status/404", "-o", folder.path, "--validate", "--report", "json",
        ])
        let reports = try run.lines.map { try JSON(parsing: Data($0.utf8)) }.map { $0.values("url", "ok") }
        #expect(
            reports.sorted { $0[0].text < $1[0].text } == [
                ["\(url)/bytes/1000", true], ["\(url)/status/404", false],
            ])
    }

    @Test func controlCEndsAllOfThemAndKeepsTheirParts() async throws {
        let folder = try TemporaryFolder(isInMemory: true)
        let running = try await startInTurn([
            "\(url)/ranges/1100010/stuck", "\(url)/ranges/2200010/once-stuck", "-o", folder.path,
        ])
        try await running.downloads(2, into: folder)
        running.interrupt()
        let run = try await running.ended()
        #expect(run.status == 130)
        #expect(run.errors.lines(with: "kept: the same command with --resume goes on").count == 2)
    }
}
