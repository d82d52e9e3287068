import FoundationEssentials
import Testing
import TrellisTesting

@testable import Trellis

/// The default limit of a line, an event or a JSON value: 16 MiB.
@Suite(.timeLimit(.minutes(1)))
struct DefaultLimitTests {
    private static let limit = 16 << 20

    private static func body(_ text: String) async throws -> StreamResponse {
        let transport = MockTransport { _ in MockResponse(body: Data(text.utf8)) }
        return try await Session(configuration: SessionConfiguration(), transport: transport).stream(
            "http://localhost/")
    }

    private static func fails(_ read: () async throws -> Void) async {
        let error = await #expect(throws: TrellisError.self) { try await read() }
        #expect(error?.kind == .bodyTooLarge)
    }

    @Test func ofALine() async throws {
        for try await line in try await Self.body(String(repeating: "x", count: Self.limit) + "\n").lines {
            #expect(line.utf8.count == Self.limit)
        }
        await Self.fails {
            for try await _ in try await Self.body(String(repeating: "x", count: Self.limit + 1)).lines {}
        }
    }

    @Test func ofAnEvent() async throws {
        let line = "data: " + String(repeating: "x", count: Self.limit - 6) + "\n"
        for try await event in try await Self.body(line + "\n").serverSentEvents {
            #expect(event.data.utf8.count == Self.limit - 6)
        }
        await Self.fails { for try await _ in try await Self.body(line + "data: more data\n\n").serverSentEvents {} }
    }

    @Test func ofAJSONValue() async throws {
        let text = "\"" + String(repeating: "x", count: Self.limit - 2) + "\""
        for try await value in try await Self.body(text + "\n").jsonLines(of: String.self) {
            #expect(value.utf8.count == Self.limit - 2)
        }
        await Self.fails {
            for try await _ in try await Self.body(" \(text)\n").jsonLines(of: String.self) {}
        }
        for try await value in try await Self.body("\u{1E}\(text)").jsonSequence(of: String.self) {
            #expect(value.utf8.count == Self.limit - 2)
        }
    }
}
