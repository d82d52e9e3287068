import FoundationEssentials
import Testing

@testable import TrellisCore

/// Values that a form cannot hold, and the path to the value in the error.
struct FormEncoderErrorTests {
    private typealias Shape = FormEncoderShapesTests.Shape
    private enum Key: String, CodingKey { case a, b }
    private struct Reason: Error {}

    /// Returns the path and the description of the error.
    private static func error(
        _ value: some Encodable, _ encoder: URLEncodedFormEncoder = .init()
    ) throws -> EncodingError.Context {
        let error = #expect(throws: EncodingError.self) { try encoder.encode(value) }
        guard case .invalidValue(_, let context)? = error else { throw Reason() }
        return context
    }

    @Test func theTopMustHaveKeys() throws {
        #expect(try Self.error(1).codingPath.isEmpty)
        #expect(try Self.error([1]).codingPath.isEmpty)
        #expect(try Self.error("a=b").debugDescription == "a form is made of keys and values")
    }

    @Test func whatAClosureThrowsHasItsPlace() throws {
        let encoder = URLEncodedFormEncoder(dateEncoding: .custom { _ in throw Reason() })
        let context = try Self.error(["a": [["b": Date()]]], encoder)
        #expect(context.codingPath.map(\.stringValue) == ["a", "Index 0", "b"])
        #expect(context.codingPath.map(\.intValue) == [nil, 0, nil])
        #expect(context.underlyingError is Reason)
    }

    @Test func whatAValueThrowsItselfComesThrough() {
        #expect(throws: Reason.self) {
            try URLEncodedFormEncoder().encode(["a": Shape { _ in throw Reason() }])
        }
    }

    @Test func aValueThatIsTwoThingsAtOnce() throws {
        let twice = Shape { encoder in
            var first = encoder.singleValueContainer()
            try first.encode(1)
            try first.encode(2)
        }
        #expect(try Self.error(["a": twice]).codingPath.map(\.stringValue) == ["a"])
        let nothingAfterSomething = Shape { encoder in
            var first = encoder.singleValueContainer()
            try first.encode(1)
            try first.encodeNil()
        }
        #expect(try Self.error(["a": nothingAfterSomething]).codingPath.map(\.stringValue) == ["a"])
        let mixed = Shape { encoder in
            var list = encoder.unkeyedContainer()
            try list.encode(1)
            var object = encoder.container(keyedBy: Key.self)
            try object.encode(1, forKey: .a)
        }
        #expect(try Self.error(["b": mixed]).codingPath.map(\.stringValue) == ["b"])
    }

    @Test func aMistakeInACallThatCannotThrowIsNotLost() throws {
        let mixed = Shape { encoder in
            _ = encoder.container(keyedBy: Key.self)
            _ = encoder.unkeyedContainer()
        }
        #expect(try Self.error(mixed).codingPath.isEmpty)
        let member = Shape { encoder in
            var object = encoder.container(keyedBy: Key.self)
            try object.encode(1, forKey: .a)
            _ = object.nestedUnkeyedContainer(forKey: .a)
        }
        #expect(try Self.error(member).codingPath.map(\.stringValue) == ["a"])
    }

    // MARK: Depth

    private struct Nested: Encodable {
        var depth: Int
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            if depth > 1 {
                try container.encode(Nested(depth: depth - 1), forKey: .a)
            } else {
                try container.encode(1, forKey: .a)
            }
        }
    }

    private struct Wrapping: Encodable {
        var depth: Int
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            if depth > 1 { try container.encode(Wrapping(depth: depth - 1)) } else { try container.encode(1) }
        }
    }

    @Test func aHundredLevelsAreWritten() throws {
        let text = try FormEncoderTests.text(Nested(depth: 100))
        #expect(text == "a" + String(repeating: "[a]", count: 99) + "=1")
    }

    @Test(arguments: [101, 10_000, 1_000_000])
    func moreLevelsAreAnError(_ depth: Int) throws {
        let context = try Self.error(Nested(depth: depth))
        #expect(context.codingPath.count == 100)
        #expect(context.debugDescription == "it is nested in more than 100 others")
    }

    @Test(arguments: [10_000, 1_000_000])
    func wrappersWithoutKeysAreLimitedToo(_ depth: Int) throws {
        #expect(try Self.error(["a": Wrapping(depth: depth)]).codingPath.map(\.stringValue) == ["a"])
        #expect(try FormEncoderTests.text(["a": Wrapping(depth: 300)]) == "a=1")
    }

    @Test func containersInEachOtherAreLimitedToo() throws {
        let keyed = Shape { encoder in
            var container = encoder.container(keyedBy: Key.self)
            for _ in 0..<10_000 { container = container.nestedContainer(keyedBy: Key.self, forKey: .a) }
        }
        #expect(try Self.error(keyed).codingPath.count == 100)
        let unkeyed = Shape { encoder in
            var object = encoder.container(keyedBy: Key.self)
            var container = object.nestedUnkeyedContainer(forKey: .a)
            for _ in 0..<10_000 { container = container.nestedUnkeyedContainer() }
            try container.encode(1)
        }
        #expect(try Self.error(unkeyed).codingPath.count == 100)
        let supers = Shape { encoder in
            var encoder = encoder
            for _ in 0..<10_000 {
                var container = encoder.container(keyedBy: Key.self)
                encoder = container.superEncoder()
            }
        }
        #expect(try Self.error(supers).codingPath.count == 100)
    }
}
