import CurlEngine
import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The data of server-sent events as values, up to the event that ends the stream.
@Suite(.timeLimit(.minutes(3)))
struct DecodedEventTests {
    private struct Delta: Codable, Hashable { let text: String }

    private let scripted = Scripted.narrow

    private func open() async throws -> (StreamResponse, ScriptedAttempt) {
        let opening = Task { [session = scripted.session] in try await session.stream("http://localhost/") }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead(headers: [.contentType: "text/event-stream"])
        return (try await opening.value, attempt)
    }

    private static func texts(_ events: DecodedEventSequence<Delta>) async throws -> [String] {
        var texts: [String] = []
        for try await delta in events { texts.append(delta.text) }
        return texts
    }

    @Test func theEventsEndWithTheTerminatorAlthoughTheServerLeavesTheBodyOpen() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody(
            "data: {\"text\":\"a\"}\n\nevent: x\ndata: {\"text\":\ndata: \"b\"}\n\ndata: [DONE]\n\ndata: {}\n\n")
        #expect(try await Self.texts(stream.events(of: Delta.self)) == ["a", "b"])
        try await attempt.wait(for: .cancel)
    }

    @Test func anEventIsDeliveredWhenItArrives() async throws {
        let (stream, attempt) = try await open()
        var iterator = stream.events(of: Delta.self).makeAsyncIterator()
        attempt.receiveBody("data: {\"text\":\"a\"}\n\nda")
        #expect(try await iterator.next() == Delta(text: "a"))
        attempt.receiveBody("ta: [DO")
        attempt.receiveBody("NE]\n\n")
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func aBodyMayEndWithoutTheTerminator() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody(": hello\n\ndata: {\"text\":\"a\"}\n\n")
        attempt.end()
        #expect(try await Self.texts(stream.events()) == ["a"])
    }

    @Test func theTerminatorCanBeChosen() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody("data: {\"text\":\"a\"}\n\ndata: end\n\ndata: {\"text\":\"b\"}\n\n")
        #expect(try await Self.texts(stream.events(until: "end")) == ["a"])
    }

    @Test func withoutATerminatorItIsAnEventThatCannotBeDecoded() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody("data: {\"text\":\"a\"}\n\ndata: [DONE]\n\n")
        let error = await #expect(throws: TrellisError.self) { try await Self.texts(stream.events(until: nil)) }
        #expect(error?.kind == .serialization)
        let element = try #require(error?.underlying as? UndecodableElement)
        #expect(element.unit == .event)
        #expect(element.number == 2)
        #expect(element.bytes == Data("[DONE]".utf8))
        try await attempt.wait(for: .cancel)
    }

    @Test func aHandlerLeavesEventsOut() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody("data: ping\n\ndata: {\"text\":\"a\"}\n\ndata: [DONE]\n\n")
        let left = Locked<[Int]>([])
        let events = stream.chunks.events(
            of: Delta.self,
            whenUndecodable: { element in
                left.withLock { $0.append(element.number) }
            })
        #expect(try await Self.texts(events) == ["a"])
        let numbers = left.withLock { $0 }
        #expect(numbers == [1])
    }

    @Test func aLargeEventIsAnError() async throws {
        let (stream, attempt) = try await open()
        attempt.receiveBody("data: {\"text\":\"\(String(repeating: "a", count: 200))\"}\n\n")
        let error = await #expect(throws: TrellisError.self) {
            try await Self.texts(stream.chunks.events(maximumSize: 100))
        }
        #expect(error?.kind == .bodyTooLarge)
    }

    @Test func aCancelledTaskGetsAnError() async throws {
        let (stream, attempt) = try await open()
        let reading = Task { try await Self.texts(stream.events()) }
        await scripted.session.settle()
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        try await attempt.wait(for: .cancel)
    }
}
