import CurlEngine
import FoundationEssentials
import Testing
@_spi(Transport) import TrellisTesting

@_spi(Transport) @testable import TrellisCore

/// A body file that the transport reads itself.
@Suite(.timeLimit(.minutes(3)))
struct FileHandOverTests {
    /// A transport that reads files itself, as far as the test allows.
    private final class Reader: Transport, FileTransportTask {
        enum Call: Equatable { case file(String, Int64), chunk(Int), finish, cancel }

        struct State {
            var calls: [Call] = []
            var events: (any TransportEvents)?
        }

        let state = Locked(State())

        var calls: [Call] { state.withLock { $0.calls } }
        private func note(_ call: Call) { state.withLock { $0.calls.append(call) } }

        func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
            state.withLock { $0.events = events }
            events.transportIsConnected()
            // The event comes before the transport has the file, as with an engine.
            events.transportNeedsBody()
            return self
        }

        func needBody() { state.withLock { $0.events }?.transportNeedsBody() }
        func end() {
            // The reference ends here: no events come after the end, and their receiver keeps the transport alive.
            let events = state.withLock { state in
                defer { state.events = nil }
                return state.events
            }
            events?.transportDidReceiveHead(ResponseHead(status: .init(code: 204)))
            events?.transportDidEnd(TransportEnd())
        }

        func send(_ file: FileReader) { note(.file(file.path, file.length)) }
        func send(_ chunk: Data) { note(.chunk(chunk.count)) }
        func finishSending() { note(.finish) }
        func cancel() { note(.cancel) }
        func pauseReceiving(_ isPaused: Bool) {}
        func suspend(_ isSuspended: Bool) {}
    }

    /// Room that the transport reported before it had the file is not taken for the file's end.
    @Test(arguments: 0..<20)
    func theBodyEndsWhenTheFileHasBeenRead(_ run: Int) async throws {
        let reader = Reader(), session = Session(transport: reader)
        let answer = Task { try await session.upload(fileAt: #filePath, to: "http://localhost/").1.status.code }
        while reader.calls.isEmpty, !Task.isCancelled { await session.settle() }
        let size = try FileChunks.size(ofFileAt: #filePath)
        for _ in 0..<10 { await session.settle() }
        #expect(reader.calls == [.file(#filePath, size)])
        reader.needBody()
        while reader.calls.count < 2, !Task.isCancelled { await session.settle() }
        #expect(reader.calls == [.file(#filePath, size), .finish])
        reader.end()
        #expect(try await answer.value == 204)
        await session.shutdown()
    }
}
