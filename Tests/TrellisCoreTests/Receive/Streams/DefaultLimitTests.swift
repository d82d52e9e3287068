import FoundationEssentials
import Testing
import TrellisTesting

@testable import TrellisCore

/// The default limit of a line, an event or a JSON value: 16 MiB.
@Suite(.timeLimit(.minutes(3)))
struct DefaultLimitTests {
    private static let limit = 16 << 20

    private static func body(_ parts: Data...) async throws -> StreamResponse {
        let body = parts.reduce(Data(), +)
        let transport = MockTransport { _ in MockResponse(body: body) }
        return try await Session(configuration: SessionConfiguration(), transport: transport).stream(
            "http://localhost/")
    }

    private static func xs(_ count: Int) -> Data { Data(repeating: UInt8(ascii: "x"), count: count) }

    private static func fails(_ read: () async throws -> Void) async {
        let error = await #expect(throws: TrellisError.self) { try await read() }
        #expect(error?.kind == .bodyTooLarge)
    }

    @Test func ofALine() async throws {
        for try await line in try await Self.body(Self.xs(Self.limit), Data("\n".utf8)).lines {
            #expect(line.utf8.count == Self.limit)
        }
        await Self.fails {
            for try await _ in try await Self.body(Self.xs(Self.limit + 1)).lines {}
        }
        await Self.fails {
            for try await _ in try await Self.body(Self.xs(Self.limit + 1)).chunks.lineBytes() {}
        }
    }

    @Test func ofAnEvent() async throws {
        let (name, data) = (Data("data: ".utf8), Self.xs(Self.limit - 6))
        for try await event in try await Self.body(name, data, Data("\n\n".utf8)).serverSentEvents {
            #expect(event.data.utf8.count == Self.limit - 6)
        }
        await Self.fails {
            for try await _ in try await Self.body(name, data, Data("\ndata: more data\n\n".utf8)).serverSentEvents {}
        }
    }

    @Test func ofAJSONValue() async throws {
        let quote = Data("\"".utf8), text = quote + Self.xs(Self.limit - 2) + quote
        for try await value in try await Self.body(text, Data("\n".utf8)).jsonLines(of: String.self) {
            #expect(value.utf8.count == Self.limit - 2)
        }
        await Self.fails {
            for try await _ in try await Self.body(Data(" ".utf8), text, Data("\n".utf8)).jsonLines(of: String.self) {}
        }
        for try await value in try await Self.body(Data("\u{1E}".utf8), text).jsonSequence(of: String.self) {
            #expect(value.utf8.count == Self.limit - 2)
        }
    }
}
