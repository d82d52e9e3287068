import Testing
import Trellis

@testable import TrellisTesting

/// JSON is compared by the bytes of its names, and a number by its value.
struct JSONDifferenceTests {
    private func difference(_ expected: String, _ actual: String) throws -> String? {
        let value = try #require(JSONValue(Data(expected.utf8)))
        let other = try #require(JSONValue(Data(actual.utf8)))
        return value.difference(to: other).map { "\($0.path): \($0.expected), \($0.actual)" }
    }

    @Test func namesThatLookTheSameAreDifferent() throws {
        // A precomposed letter, and the same letter with a combining accent.
        let found = try #require(try difference("{\"\u{E9}\": 1}", "{\"e\u{301}\": 1}"))
        #expect(found.hasSuffix("1, none") || found.hasSuffix("none, 1"))
        #expect(try difference("{\"a\": \"\u{E9}\"}", "{\"a\": \"e\u{301}\"}") != nil)
    }

    @Test func numbersAreComparedByTheirValues() throws {
        #expect(try difference("[1, 2.5, 9007199254740993]", "[1.0, 2.50, 9007199254740993]") == nil)
        #expect(try difference("[9007199254740993]", "[9007199254740992]") != nil)
    }

    @Test func aTextIsNoJSON() {
        #expect(JSONValue(Data("text".utf8)) == nil)
    }
}
