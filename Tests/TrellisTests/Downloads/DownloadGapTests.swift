import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

/// A partial file with gaps: a checkpoint that describes a file without gaps is removed before the first gap appears.
@Suite(.timeLimit(.minutes(1)))
struct DownloadGapTests {
    private static let total = 4 << 20
    private static let content = Data((0..<total).map { UInt8(truncatingIfNeeded: $0 % 251 + 1) })
    private let clock = TestClock()
    private let transport: ScriptedTransport
    private let session: Session
    private let folder: URL
    private let disk = RecordedDisk(content)

    init() throws {
        transport = ScriptedTransport(clock: clock)
        session = Session(transport: transport, clock: clock)
        folder = FileManager.default.temporaryDirectory.appending(path: "trellis-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func path(_ name: String) -> String { folder.appending(path: name).path }

    private var part: String { path(".f.trellis-part") }
    private var note: String { path(".f.trellis-note") }

    private func start(connections: Int) -> DownloadRequest {
        var options = DownloadOptions()
        options.connections = connections
        let download = session.downloadRequest("http://a.example/f", to: .file(path("f")), options: options)
        download.resume()
        return download
    }

    private func receive(_ range: Range<Int>, _ attempt: ScriptedAttempt, _ download: DownloadRequest) async throws {
        let before = download.currentProgress.completedBytes
        attempt.receiveBody(Self.content[range])
        while download.currentProgress.completedBytes < before + Int64(range.count) {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Answers with the range that is requested; returns the start of the range.
    private func sendHead(_ attempt: ScriptedAttempt) throws -> Int {
        let range = try #require(attempt.request.request.headers[.range]).dropFirst("bytes=".count)
        attempt.connect()
        attempt.receiveHead(
            status: 206, headers: [.eTag: "\"a\"", .contentRange: "bytes \(range)/\(Self.total)"])
        return try #require(Int(range.prefix { $0 != "-" }))
    }

    /// Creates the files of a process that is killed after 3000 bytes in order: a checkpoint that relies on the kernel for these
    /// bytes.
    private func leaveInOrder() async throws {
        let download = start(connections: 1)
        let attempt = try await transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead(
            headers: [.eTag: "\"a\"", .contentLength: "\(Self.total)", .acceptRanges: "bytes"])
        try await receive(0..<3000, attempt, download)
        let (bytes, text) = (try Data(contentsOf: URL(filePath: part)), try Data(contentsOf: URL(filePath: note)))
        download.cancel()
        await #expect(throws: TrellisError.self) { try await download.value }
        try bytes.write(to: URL(filePath: part))
        try text.write(to: URL(filePath: note))
    }

    /// A checkpoint without gaps is removed where ranges cannot be recorded: otherwise the bytes of a gap would count as bytes of
    /// the file.
    @Test func aNoteInOrderGoesWherePartsCannotBeNoted() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try await leaveInOrder()
        disk.fail("rename note.new note")
        try await disk.recording {
            let download = start(connections: 2)
            let attempts = [try await transport.nextAttempt(), try await transport.nextAttempt()]
            let starts = try attempts.map(sendHead)
            let last = starts[0] > starts[1] ? 0 : 1
            #expect(starts[1 - last] == 3000 && starts[last] > 2 << 20)
            try await receive(starts[last]..<starts[last] + 1000, attempts[last], download)
            // The process would leave this state if it were killed now.
            #expect(!FileManager.default.fileExists(atPath: note))
            download.cancel()
            await #expect(throws: TrellisError.self) { try await download.value }
        }
        let next = start(connections: 1)
        let attempt = try await transport.nextAttempt()
        #expect(attempt.request.request.headers[.range] == nil)
        next.cancel()
        await #expect(throws: TrellisError.self) { try await next.value }
    }

    /// A download does not write ranges to a file whose old checkpoint cannot be removed.
    @Test func withANoteThatDoesNotGoNoPartsCome() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try await leaveInOrder()
        for entry in ["rename note.new note", "remove note"] { disk.fail(entry) }
        await disk.recording {
            let download = start(connections: 2)
            let error = await #expect(throws: TrellisError.self) { try await download.value }
            #expect(error?.kind == .file && error?.description.contains("its checkpoint cannot be removed") == true)
        }
        #expect(transport.attempts.count == 1)
        // The bytes from before are still there.
        let next = start(connections: 1)
        let attempt = try await transport.nextAttempt()
        #expect(attempt.request.request.headers[.range] == "bytes=3000-")
        next.cancel()
        await #expect(throws: TrellisError.self) { try await next.value }
    }

    /// A checkpoint holds as long as all bytes that it lists are there.
    @Test(arguments: [([0..<2000], true), ([0..<2500], true), ([0..<500, 1000..<2000], false), ([], false)])
    func notesFromBefore(_ done: [Range<Int64>], _ holds: Bool) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try DownloadFile.opened(at: path("f"), [])
        try file.write(Self.content.prefix(2000), at: 0)
        let data = ResumeData(
            url: "http://a.example/f", path: file.path, done: done, totalBytes: Int64(Self.total),
            validator: .entityTag("\"a\""))
        #expect(!file.hasCheckpoint(like: data))
        // The checkpoint relies on the kernel for the complete length of the file.
        let pending = ResumeData.Pending(boot: "boot", written: [0..<Int64(Self.total)])
        #expect(file.writeCheckpoint(data.with(done: [], pending: pending), isDurable: false))
        #expect(file.hasCheckpoint(like: data) == holds)
        file.discard()
    }
}
