import Foundation
import Synchronization
import Testing
import Trellis
import TrellisTesting

@testable import Programs

@Suite(.timeLimit(.minutes(15))) struct ChatTests {
    /// A server that is busy, then breaks off before the first word, and then answers and leaves the connection open, or breaks off.
    private func model(breaksOff: Bool) throws -> LoopbackServer {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1000\r\n\r\n"
        return try LoopbackServer { connection in
            try connection.readRequest()
            switch connection.ordinal {
            case 1:
                try connection.write(
                    "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            case 2: try connection.write(head)
            default:
                try connection.write(head)
                for word in ["The ", "quick "] { try connection.write("data: {\"text\":\"\(word)\"}\n\n") }
                if breaksOff { return }
                try connection.write("data: {\"text\":\"fox\"}\n\ndata: [DONE]\n\n")
                connection.waitUntilPeerCloses()
            }
        }
    }

    /// The pauses are those of a clock that is moved as long as something waits for it.
    private func answer(of server: LoopbackServer, into write: @escaping @Sendable (String) -> Void) async throws {
        let clock = TestClock()
        let session = Session(clock: clock)
        let mover = Task {
            while !Task.isCancelled {
                await clock.waitForSleepers()
                await clock.advance(by: .seconds(2))
            }
        }
        defer { mover.cancel() }
        try await ask("Hello?", at: server.url("/"), in: session, write: write)
    }

    @Test func anAnswerIsAskedForUntilItsFirstWord() async throws {
        let words = Mutex<[String]>([])
        let server = try model(breaksOff: false)
        try await answer(of: server) { word in words.withLock { $0.append(word) } }
        #expect(words.withLock { $0 } == ["The ", "quick ", "fox"])
        #expect(
            server.requests.map { String(decoding: $0.body, as: UTF8.self) }
                == Array(repeating: #"{"text":"Hello?"}"#, count: 3))
    }

    @Test func anAnswerThatBreaksOffIsAnError() async throws {
        let words = Mutex<[String]>([])
        let server = try model(breaksOff: true)
        let error = await #expect(throws: TrellisError.self) {
            try await answer(of: server) { word in words.withLock { $0.append(word) } }
        }
        #expect(error?.kind == .truncatedBody)
        #expect(words.withLock { $0 } == ["The ", "quick "] && server.requests.count == 3)
    }

    @Test func aConversationEndsWhenTheServerEndsIt() async throws {
        let server = try LoopbackServer.webSocket { peer in
            while let message = try peer.receive() {
                if message == .text("bye") { return try peer.close(reason: "so long") }
                try peer.send("you said: \(message.text ?? "")")
            }
        }
        let (lines, source) = AsyncStream.makeStream(of: String.self)
        for line in ["hello", "bye"] { source.yield(line) }  // no end of the input
        let (replies, sink) = AsyncStream.makeStream(of: String.self)
        try await talk(lines, with: server.url(scheme: "ws"), in: Session(clock: TestClock())) { sink.yield($0) }
        sink.finish()
        #expect(await Array(replies) == ["you said: hello"])
    }

    @Test func aConversationEndsWithItsInput() async throws {
        let (codes, source) = AsyncStream.makeStream(of: WebSocketCloseCode?.self)
        let server = try LoopbackServer.webSocket { peer in
            while try peer.receive() != nil {}
            source.yield(peer.closeCode)
        }
        let lines = AsyncStream<String> {
            $0.yield("hello"); $0.finish()
        }
        try await talk(lines, with: server.url(scheme: "ws"), in: Session(clock: TestClock())) { _ in }
        var iterator = codes.makeAsyncIterator()
        #expect(await iterator.next() == .normalClosure)
    }

    @Test func aServerThatFailsIsAnError() async throws {
        let server = try LoopbackServer.webSocket { try $0.close(code: .internalError, reason: "broken") }
        let (lines, source) = AsyncStream.makeStream(of: String.self)
        defer { source.finish() }
        let error = await #expect(throws: TrellisError.self) {
            try await talk(lines, with: server.url(scheme: "ws"), in: Session(clock: TestClock())) { _ in }
        }
        #expect(error?.kind == .webSocket)
    }
}

extension Array {
    /// The elements of a sequence that ends.
    init(_ sequence: some AsyncSequence<Element, Never>) async {
        self = []
        for await element in sequence { append(element) }
    }
}
