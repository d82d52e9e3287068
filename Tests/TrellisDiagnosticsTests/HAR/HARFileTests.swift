import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDiagnostics

/// The file of a recorder, which is a complete document at any time.
@Suite(.timeLimit(.minutes(3)))
struct HARFileTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path("run.har") }

    init() throws { folder = try TemporaryFolder() }

    /// Returns the document in the file; `nil` if the file is none.
    private var document: HARDocument? { folder.content("run.har").flatMap { try? HARDocument(json: $0) } }

    private func session(_ recorder: HARRecorder) -> Session {
        var configuration = SessionConfiguration()
        configuration.record(into: recorder)
        return Session(
            configuration: configuration,
            transport: MockTransport { request in .text("\(request.path) \"\\ \u{2028} é") })
    }

    private static func entry(_ url: String) -> @Sendable () throws -> Data {
        {
            try HARDocument.encoder.encode(
                HARDocument.Entry(startedDateTime: "", request: .init(method: "GET", url: url), response: .init()))
        }
    }

    /// The file is complete after each exchange, without an end of the recorder.
    @Test func theFileIsCompleteAfterEachExchange() async throws {
        let session = session(HARRecorder(file: path, bodyLimit: 1_000))
        for number in 1...5 {
            _ = try await session.data("http://a.example/\(number)")
            while document?.entries.count != number, !Task.isCancelled { await Task.yield() }
            #expect(document?.entries.last?.response.content.text == "/\(number) \"\\ \u{2028} é")
        }
        #expect(document?.creator == .trellis)
        #expect(folder.content("run.har")?.split(separator: 0x0A).count == 7, "an entry is a line")
    }

    @Test func theEndOfARecorderWritesWhatIsLeft() async throws {
        let recorder = HARRecorder(file: path, bodyLimit: 1_000)
        let session = session(recorder)
        let stream = try await session.stream("http://a.example/")
        await session.shutdown()
        try await recorder.finish()
        #expect(document?.entries.count == 1)
        stream.cancel()
    }

    @Test func aRecordingWithoutExchangesIsADocument() async throws {
        try await HARRecorder(file: path).finish()
        #expect(document == HARDocument())
        #expect(try folder.permissions("run.har") == 0o600)
    }

    @Test func anEarlierFileIsReplaced() async throws {
        try folder.write(Data(repeating: 0x20, count: 10_000), to: "run.har", permissions: 0o644)
        let recorder = HARRecorder(file: path)
        let session = session(recorder)
        _ = try await session.data("http://a.example/")
        await session.shutdown()
        try await recorder.finish()
        #expect(document?.entries.count == 1)
        #expect(try folder.permissions("run.har") == 0o644)
    }

    @Test(arguments: ["none/run.har", "", "folder"])
    func aFileThatCannotBeWrittenIsAnErrorAtTheEnd(_ name: String) async throws {
        try FileManager.default.createDirectory(atPath: folder.path("folder"), withIntermediateDirectories: true)
        let path = name.isEmpty ? "" : folder.path(name)
        let recorder = HARRecorder(file: path)
        let session = session(recorder)
        _ = try await session.data("http://a.example/")
        await session.shutdown()
        let failure = await #expect(throws: FileFailure.self) { try await recorder.finish() }
        #expect(failure?.path == path)
    }

    @Test func aFileThatAnotherRecorderWritesIsAnError() async throws {
        let first = HARFile(path: path)
        first.add(Self.entry("http://one.example/"))
        #expect(first.write() == nil)
        let second = HARFile(path: path)
        second.add(Self.entry("http://two.example/"))
        #expect(second.write()?.reason.contains("another program is writing to it") == true)
        #expect(document?.entries.map(\.request.url) == ["http://one.example/"])
        withExtendedLifetime(first) {}
    }

    /// The document keeps the entries before one that cannot be written.
    @Test func aFullDisk() throws {
        let file = HARFile(path: path)
        for number in 1...3 { file.add(Self.entry("http://a.example/\(number)")) }
        #expect(file.write() == nil)
        file.add(Self.entry("http://a.example/4"))
        let isFull = Locked(true)
        let handler: FileOperationHook.Handler = { operation, moment in
            guard case .write = operation, moment == .before, isFull.withLock({ $0 }) else { return nil }
            // The end of the document is short, and has room where it was.
            isFull.withLock { $0 = false }
            return FileError(reason: "No space left on device")
        }
        let failure = FileOperationHook.$handler.withValue(handler) { file.write() }
        #expect(failure == FileFailure(path: path, reason: "No space left on device"))
        #expect(document?.entries.map(\.request.url) == (1...3).map { "http://a.example/\($0)" })
        // The recording has a gap, and so it is not continued.
        file.add(Self.entry("http://a.example/5"))
        #expect(file.write() == failure && document?.entries.count == 3)
    }

    /// The file can be mended after a failure of the machine in the middle of a write, as the documentation says.
    @Test func aFileThatIsCutIsMended() throws {
        let file = HARFile(path: path)
        for number in 1...3 { file.add(Self.entry("http://a.example/\(number)")) }
        file.write()
        let whole = try #require(folder.content("run.har"))
        let lines = whole.split(separator: 0x0A, omittingEmptySubsequences: false)
        try #require(lines.count > 1)
        let entry = lines[1].count + 1
        for cut in (lines[0].count + 1 + entry)..<whole.count {
            let part = whole.prefix(cut)
            // The last line may be incomplete, and the comma between entries is at the end of a line.
            var kept = Data(part[..<((part.lastIndex(of: 0x0A) ?? part.startIndex) + 1)])
            while let last = kept.last, last == 0x0A || last == UInt8(ascii: ",") { kept.removeLast() }
            let mended = kept + Data("]}}".utf8)
            #expect(throws: Never.self, "cut after \(cut) bytes") { try HARDocument(json: mended) }
        }
    }

    @Test func theWholeSessionIsRecordedWhenManyWrite() async throws {
        let recorder = HARRecorder(file: path, bodyLimit: 1_000)
        let session = session(recorder)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask { for try await _ in try await session.stream("http://a.example/\(number)").chunks {} }
            }
            try await group.waitForAll()
        }
        await session.shutdown()
        try await recorder.finish()
        let urls = Set(document?.entries.map(\.request.url) ?? [])
        #expect(urls.count == 200 && document?.entries.count == 200)
    }

    /// A disk that hangs keeps one thread, however many entries come meanwhile.
    @Test func aDiskThatHangsKeepsOneThread() async throws {
        let (disk, file) = (HangingDisk(), HARFile(path: path))
        try await disk.hanging(at: { if case .write = $0 { true } else { false } }) {
            for number in 0..<100 {
                file.add(Self.entry("http://a.example/\(number)"))
                file.beginWriting { 0 }
                if number == 0 { try await disk.isReached.opened() }
            }
            // The threads for the folder are not used up.
            #expect(await BlockingThreadPool.run(at: file.folder) { 1 } == 1)
            #expect(disk.operationCount == 1)
        }
        disk.goOn()
        #expect(await BlockingThreadPool.run(at: file.folder) { file.write() } == nil)
        #expect(document?.entries.count == 100)
    }
}
