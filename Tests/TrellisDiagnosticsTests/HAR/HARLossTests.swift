import CurlEngine
import Foundation
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDiagnostics

/// The events that a recorder has lost are counted, and its document tells their number.
@Suite(.timeLimit(.minutes(3)))
struct HARLossTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path("run.har") }

    init() throws { folder = try TemporaryFolder() }

    /// Returns the document in the file; `nil` if the file is none.
    private var document: HARDocument? { folder.content("run.har").flatMap { try? HARDocument(json: $0) } }

    private static func comment(_ events: String) -> String {
        "\(events) lost, because the recorder was too slow: entries can be missing, or incomplete"
    }

    private static func entry(_ number: Int) -> @Sendable () throws -> Data {
        {
            let request = HARDocument.Request(method: "GET", url: "http://a.example/\(number)")
            return try HARDocument.encoder.encode(
                HARDocument.Entry(startedDateTime: "", request: request, response: .init()))
        }
    }

    /// The recorder waits in its first event, and the others do not have room. The number is that of the session.
    @Test(arguments: [false, true])
    func aSlowRecorderTellsWhatItHasLost(isInFile: Bool) async throws {
        let recorder = isInFile ? HARRecorder(file: path) : HARRecorder()
        let gate = LoopbackServer.Gate(), hasBegun = LoopbackServer.Gate()
        var configuration = SessionConfiguration()
        configuration.eventBufferSize = 3
        configuration.eventMonitors = [
            ClosureEventMonitor { event in
                hasBegun.open()
                try? await gate.opened()
                await recorder.handle(event)
            }
        ]
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("hello") })
        _ = try await session.data("http://a.example/1")
        try await hasBegun.opened()
        for number in 2...3 { _ = try await session.data("http://a.example/\(number)") }
        await session.settle()
        #expect(recorder.droppedEventCount == 0)
        gate.open()
        await session.shutdown()
        try await recorder.finish()
        let lost = session.droppedEventCount
        #expect(lost > 10 && recorder.droppedEventCount == lost)
        let written = try #require(isInFile ? document : recorder.document)
        #expect(written.comment == Self.comment("\(lost) events were"))
        #expect(written.entries.count < 3)
    }

    @Test func lossesAddUp() async throws {
        let recorder = HARRecorder()
        #expect(recorder.document.comment == nil)
        await recorder.handle(RequestEvent(dropped: 1, of: nil))
        #expect(recorder.document.comment == Self.comment("1 event was"))
        await recorder.handle(RequestEvent(dropped: 11, of: nil))
        #expect(recorder.droppedEventCount == 12 && recorder.document.comment == Self.comment("12 events were"))
    }

    /// The end of the document, with the comment, is behind the last entry at any time. A write that knows of fewer losses changes nothing
    /// in the comment.
    @Test func theFileIsADocumentWithTheNumber() throws {
        let file = HARFile(path: path)
        for (number, (known, told)) in [(0, 0), (1, 1), (1, 1), (120, 120), (9, 120)].enumerated() {
            file.add(Self.entry(number))
            #expect(file.write(droppedEventCount: known) == nil)
            let written = try #require(document)
            #expect(written.entries.count == number + 1)
            #expect(written.comment == HARDocument.comment(droppedEventCount: told))
        }
        #expect(file.write(droppedEventCount: 1_000) == nil)
        #expect(document?.entries.count == 5 && document?.comment == Self.comment("1000 events were"))
    }

    /// The document keeps the end that had room.
    @Test func aFullDiskKeepsTheNumberBefore() throws {
        let file = HARFile(path: path)
        file.add(Self.entry(1))
        #expect(file.write(droppedEventCount: 1) == nil)
        file.add(Self.entry(2))
        let isFull = Locked(true)
        let handler: FileOperationHook.Handler = { operation, moment in
            guard case .write = operation, moment == .before, isFull.withLock({ $0 }) else { return nil }
            isFull.withLock { $0 = false }
            return FileError(reason: "No space left on device")
        }
        let failure = FileOperationHook.$handler.withValue(handler) { file.write(droppedEventCount: 5) }
        #expect(failure?.reason == "No space left on device")
        #expect(document?.entries.count == 1 && document?.comment == Self.comment("1 event was"))
    }
}
