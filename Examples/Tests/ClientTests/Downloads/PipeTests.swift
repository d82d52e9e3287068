import Foundation
import Testing

/// `-o` with what is not a regular file, and pipes.
@Suite(.timeLimit(.minutes(60))) struct PipeTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Makes a named pipe, and returns its path.
    private func pipe() throws -> String {
        guard mkfifo(folder["pipe"], 0o600) == 0 else { throw Failure("no pipe can be made") }
        return folder["pipe"]
    }

    @Test func aDeviceStaysADevice() async throws {
        let run = try await client(["\(url)/bytes/100000", "-o", "/dev/null"])
        #expect(run.status == 0)
        let attributes = try FileManager.default.attributesOfItem(atPath: "/dev/null")
        #expect(attributes[.type] as? FileAttributeType == .typeCharacterSpecial)
    }

    @Test func aHyphenIsTheStandardOutput() async throws {
        let run = try await client(["\(url)/", "-o", "-"])
        #expect(run.text == "hello world")
    }

    @Test func theReportHasTheBodyThatADeviceHasReceived() async throws {
        let run = try await report(["\(url)/", "-o", "/dev/null"])
        #expect(run.report.values("ok", "body") == [true, ["bytes": 11, "base64": "aGVsbG8gd29ybGQ="]])
    }

    @Test func aNamedPipeReceivesTheBody() async throws {
        let pipe = try pipe()
        let reader = try RunningProgram("cat", [pipe], input: .nothing, environment: [:], in: nil)
        let run = try await report(["\(url)/", "-o", pipe])
        #expect(run.report.values("ok", "body.bytes") == [true, 11])
        #expect(try await reader.ended().text == "hello world")
    }

    @Test(arguments: [("--deadline", "timeout_deadline"), ("--cancel-after", "cancelled")])
    func theWaitForAReaderOfAPipeEnds(option: String, kind: JSON) async throws {
        let run = try await report(["\(url)/", "-o", try pipe(), option, "0.3"], status: 1)
        #expect(run.report["error"]["kind"] == kind)
    }

    @Test func theWaitForAWriterOfAPipeEnds() async throws {
        let run = try await report(["\(url)/echo", "-d", "@\(try pipe())", "--deadline", "0.3"], status: 1)
        #expect(run.report["error"]["kind"] == "timeout_deadline")
    }

    @Test func aCurlCommandDoesNotWaitForAPipe() async throws {
        let run = try await client(["\(url)/echo", "--curl", "-d", "@\(try pipe())"])
        #expect(run.status == 0)
    }
}
