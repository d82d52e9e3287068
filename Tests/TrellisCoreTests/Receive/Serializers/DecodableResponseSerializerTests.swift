import FoundationEssentials
import Testing

@testable import TrellisCore

/// Decoded values: decoders, preprocessors, and the messages of errors.
struct DecodableResponseSerializerTests {
    struct User: Codable, Equatable {
        var name: String
        var tags: [Int] = []
    }

    private struct Refusing: DataDecoder {
        struct Refusal: Error, CustomStringConvertible { var description: String { "not today" } }
        func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value { throw Refusal() }
    }

    private struct Cancelling: DataDecoder {
        func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value { throw CancellationError() }
    }

    @Test func jsonUnlessSaidOtherwise() async throws {
        let answer = Answer.test(text: #"{"name": "Ada", "tags": [1, 2]}"#)
        #expect(try await answer.read(.decodable(User.self)) == User(name: "Ada", tags: [1, 2]))
    }

    @Test func propertyLists() async throws {
        let xml = """
            <?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict><key>name</key><string>Ada</string>
            <key>tags</key><array><integer>3</integer></array></dict></plist>
            """
        let user = User(name: "Ada", tags: [3])
        for body in [Data(xml.utf8), try PropertyListEncoder().encode(user)] {
            #expect(try await Answer.test(body: body).read(.decodable(User.self, decoder: .propertyList)) == user)
        }
    }

    @Test func aDecoderWithSettingsOfItsOwn() async throws {
        struct Event: Decodable, Equatable { let startedAt: Date }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .secondsSince1970
        let event = try await Answer.test(text: #"{"started_at": 5}"#).read(.decodable(Event.self, decoder: decoder))
        #expect(event == Event(startedAt: Date(timeIntervalSince1970: 5)))
    }

    @Test(arguments: [
        (")]}',\n[1]", "[1]"), (")]}'\n[1]", "[1]"), (")]}',\r\n[1]", "[1]"), (")]}'[1]", ")]}'[1]"), ("[1]", "[1]"),
        (" )]}'\n[1]", " )]}'\n[1]"), (")]}',\n", ""),
    ])
    func thePrefixAgainstScriptsIsTakenAway(_ body: String, _ rest: String) async throws {
        let serializer = StringResponseSerializer(preprocessor: .googleXSSI)
        #expect(try await Answer.test(text: body).read(serializer) == rest)
    }

    @Test func preprocessorsWorkForEverySerializer() async throws {
        let answer = Answer.test(text: ")]}'\n[1]")
        #expect(try await answer.read(.decodable([Int].self, preprocessor: .googleXSSI)) == [1])
        #expect(try await answer.read(DataResponseSerializer(preprocessor: .googleXSSI)) == Data("[1]".utf8))
        #expect(try await answer.read(.data) == Data(")]}'\n[1]".utf8))
    }

    @Test(arguments: [
        (
            #"[{"name": "a", "tags": []}, {"name": 5}]"#,
            "at [1].name: Expected to decode String but found number instead."
        ),
        (#"[{"name": null}]"#, "at [0].name: "),
        (#"[{"tags": []}]"#, #"at [0]: there is no "name""#),
        ("<html>", "The given data was not valid JSON."),
    ])
    func theErrorSaysWhatAndWhere(_ body: String, _ reason: String) async throws {
        let error = try #require(
            await #expect(throws: TrellisError.self) { try await Answer.test(text: body).read(.decodable([User].self)) }
        )
        #expect(error.kind == .serialization)
        #expect(error.underlying is DecodingError)
        #expect(error.bodyExcerpt?.text == body)
        guard case .serializationFailed(.decoding("Array<User>", let found)) = error.reason else {
            Issue.record("\(error.reason)")
            return
        }
        #expect(found.hasPrefix(reason))
        #expect(error.description.hasPrefix("GET http://a.example/: the response is no Array<User>: \(reason)"))
        #expect(error.description.hasSuffix("; the body: \(body)"))
        #expect(!error.isRetryable)
    }

    @Test func aDecodersErrorIsTheCause() async {
        let error = await #expect(throws: TrellisError.self) {
            try await Answer.test(text: "x").read(.decodable(User.self, decoder: Refusing()))
        }
        #expect(error?.underlying is Refusing.Refusal)
        #expect(error?.reason == .serializationFailed(.decoding(type: "User", reason: "not today")))
        await #expect(throws: CancellationError.self) {
            try await Answer.test(text: "x").read(.decodable(User.self, decoder: Cancelling()))
        }
    }
}
