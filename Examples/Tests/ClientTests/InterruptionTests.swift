import Foundation
import Testing

/// Ctrl-C, while a response or standard input is awaited.
@Suite(.timeLimit(.minutes(60))) struct InterruptionTests {
    @Test func controlCEndsARequestWhoseReportTellsWhatCame() async throws {
        let folder = try TemporaryFolder()
        // The client copies the body to a pipe as it comes, which tells when to interrupt it.
        let pipe = folder["pipe"]
        #expect(mkfifo(pipe, 0o600) == 0)
        let copy = try RunningProgram("cat", [pipe], input: .nothing, environment: [:], in: nil)
        let running = try await startInTurn(["\(url)/stuck", "--report", "json", "-o", pipe])
        try await copy.prints("only this")
        running.interrupt()
        let run = try await running.ended()
        #expect(run.status == 130)
        #expect(run.report.values("error.kind", "body.bytes") == ["cancelled", 9])
        #expect(run.bodyText == "only this")
    }

    @Test func controlCEndsARequestWhoseBodyIsPrinted() async throws {
        let running = try await startInTurn(["\(url)/stuck"])
        try await running.prints("only this")
        running.interrupt()
        let run = try await running.ended()
        #expect(run.status == 130 && run.text == "only this")
        #expect(run.errors.lines.count == 1, "\(run.errors)")
    }

    @Test func controlCEndsARequestThatAwaitsStandardInput() async throws {
        let folder = try TemporaryFolder()
        let pipe = folder["pipe"]
        #expect(mkfifo(pipe, 0o600) == 0)
        let descriptor = open(pipe, O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        let running = try await startInTurn(["\(url)/echo", "-d", "@-"], input: .file(pipe))
        #expect(write(descriptor, "x", 1) == 1)
        // When the byte is no longer in the pipe, the client waits for the next one.
        try await running.wait(until: "reads its standard input") { _ in
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&polled, 1, 0) == 0
        }
        running.interrupt()
        let run = try await running.ended()
        #expect(run.status == 130 && run.text == "")
        #expect(run.errors.lines.count == 1, "\(run.errors)")
    }
}
