import Foundation
import Testing

/// The progress of downloads on a terminal.
@Suite(.timeLimit(.minutes(60))) struct ProgressTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Runs the client on a terminal until each of some lines shows a text, and then presses Ctrl-C. Returns `shown`, the
    /// lines before Ctrl-C, `left`, the lines at the end, and `status`.
    private func terminal(
        columns: Int, lines: Int = 1, showing text: String, _ arguments: [String]
    ) async throws -> JSON {
        let run = try await python(
            "progress_terminal.py", ["\(columns)", "\(lines)", text, Programs.trellis] + arguments)
        guard run.status == 0 else { throw Failure(run.errors) }
        return run.report
    }

    @Test func eachDownloadHasALineBelowTheMessages() async throws {
        let folder = try TemporaryFolder(isInMemory: true)
        let terminal = try await terminal(
            columns: 80, lines: 2, showing: "50 %",
            [
                "\(url)/ranges/1100012/stuck", "\(url)/bytes/1000", "\(url)/ranges/2200014/once-stuck-2", "-o",
                folder.path,
            ])
        let names = terminal["shown"].elements.map { $0.text.split(separator: " ").first }
        #expect(names == ["stuck", "once-stuck-2"])
        let left = terminal["left"].elements.map(\.text)
        #expect(left.count { $0.contains("kept") } == 2, "\(left)")
        #expect(!left.contains { $0.contains("50 %") }, "\(left)")
    }

    @Test(arguments: [80, 120]) func anUploadHasALine(columns: Int) async throws {
        let file = try folder.write(Data(count: 1_000_000), to: "upload")
        // The first line may be drawn before any byte has gone. The time that is left is known afterwards.
        let terminal = try await terminal(
            columns: columns, showing: " left", ["-T", file, "--limit-rate", "10K", "\(url)/request"])
        let line = terminal["shown"][0].text
        #expect(line.contains(#/^sent [━─]+ \d+ %  .* KiB of 976\.6 KiB  .*/s  .* left$/#), "\(line)")
        #expect(line.count < columns && terminal["status"] == 130)
    }

    @Test func eachSavedFileHasALine() async throws {
        let run = try await python(
            "body_terminal.py",
            [Programs.trellis, "\(url)/bytes/100", "\(url)/bytes/2000", "\(url)/nope", "-o", "\(folder.path)/many/"])
        // Progress is drawn if the downloads take a while; the lines that stay begin where it is erased.
        let lines = run.report.text.replacing(#/\u{1B}\[\d*[A-Z]/#, with: "").split(whereSeparator: \.isNewline)
        for (name, size) in [("100", "100 B"), ("2000", "2.0 KiB")] {
            #expect(lines.contains { $0.hasPrefix("\(folder.path)/many/\(name)  \(size)  200  ") }, "\(lines)")
        }
        #expect(lines.count { $0.hasPrefix("trellis: nope: ") } == 1, "\(lines)")
    }

    @Test func aSizeBeyondAllBoundsDoesNotEndTheProcess() async throws {
        let terminal = try await terminal(
            columns: 80, showing: "52560000:00 min left", ["\(url)/huge", "-o", folder["a"]])
        #expect(terminal["status"] == 130)
    }

    @Test(arguments: [1, 8, 9, 10]) func aNarrowTerminalDoesNotEndTheProcess(columns: Int) async throws {
        let terminal = try await terminal(
            columns: columns, showing: "…", ["\(url)/ranges/2200016/stuck", "-o", folder["a-long-name"]])
        #expect(terminal["status"] == 130)
    }
}
