import FoundationEssentials
import Testing

@testable import TrellisCore

/// Every use of an encoder that an `Encodable` value may make.
struct FormEncoderShapesTests {
    private enum Key: String, CodingKey { case a, b, c }

    /// A value whose encoding is a closure.
    struct Shape: Encodable {
        let write: (any Encoder) throws -> Void
        func encode(to encoder: any Encoder) throws { try write(encoder) }
    }

    static func text(_ write: @escaping (any Encoder) throws -> Void) throws -> String {
        try FormEncoderTests.text(Shape(write: write))
    }

    @Test func everyNumber() throws {
        struct Numbers: Encodable {
            var a = Int.min, b = Int8.min, c = Int16.min, d = Int32.min, e = Int64.min, f = Int128.min
            var g = UInt.max, h = UInt8.max, i = UInt16.max, j = UInt32.max, k = UInt64.max, l = UInt128.max
            var m = Float(0.1), n = 0.1, o = Decimal(string: "0.10000000000000000000000000001")
        }
        #expect(
            try FormEncoderTests.text(Numbers()) == """
                a=-9223372036854775808&b=-128&c=-32768&d=-2147483648&e=-9223372036854775808&\
                f=-170141183460469231731687303715884105728&g=18446744073709551615&h=255&i=65535&j=4294967295&\
                k=18446744073709551615&l=340282366920938463463374607431768211455&m=0.1&n=0.1&\
                o=0.10000000000000000000000000001
                """)
    }

    @Test func everyOptionalNumberIsSubjectToTheEncodingOfNil() throws {
        struct Numbers: Encodable {
            var a: Int?, b: Int8?, c: Int16?, d: Int32?, e: Int64?, f: Int128?
            var g: UInt?, h: UInt8?, i: UInt16?, j: UInt32?, k: UInt64?, l: UInt128?
            var m: Float?, n: Double?, o: Bool?, p: String?, q: Decimal?
        }
        let names = "abcdefghijklmnopq".map { "\($0)=null" }
        #expect(try FormEncoderTests.text(Numbers()) { $0.nilEncoding = .null } == names.joined(separator: "&"))
        #expect(try FormEncoderTests.text(Numbers()).isEmpty)
    }

    @Test func numbersWithoutAValue() throws {
        #expect(try FormEncoderTests.text(["a": Double.nan, "b": .infinity, "c": 1e20]) == "a=nan&b=inf&c=1e+20")
    }

    @Test func valuesThatWouldEncodeThemselvesOtherwise() throws {
        let url = try #require(URL(string: "https://example.com/a?b"))
        #expect(try FormEncoderTests.text(["a": url]) == "a=https://example.com/a?b")
        let id = UUID()
        #expect(try FormEncoderTests.text(["a": id]) == "a=\(id.uuidString)")
    }

    @Test func rawValues() throws {
        enum Word: String, Encodable { case one }
        enum Number: Int, Encodable { case two = 2 }
        struct Both: Encodable { var a = Word.one, b = [Number.two] }
        #expect(try FormEncoderTests.text(Both()) == "a=one&b[]=2")
    }

    @Test func dictionariesWithNumbersForKeysStayDictionaries() throws {
        #expect(try FormEncoderTests.text(["a": [10: "x", 9: "y"]]) == "a[10]=x&a[9]=y")
        #expect(try FormEncoderTests.text([1: "x"]) == "1=x")
    }

    @Test func dictionariesWithCodingKeys() throws {
        enum Colour: String, CodingKeyRepresentable, Encodable { case red, green }
        #expect(try FormEncoderTests.text(["a": [Colour.red: 1, .green: 2]]) == "a[green]=2&a[red]=1")
    }

    @Test func dictionariesWithOtherKeysAreArrays() throws {
        #expect(try FormEncoderTests.text(["a": [0.5: "x"]]) == "a[]=0.5&a[]=x")
    }

    @Test func associatedValues() throws {
        enum Choice: Encodable { case one(Int), two(name: String) }
        #expect(
            try FormEncoderTests.text(["a": [Choice.one(1), .two(name: "x")]]) == "a[][one][_0]=1&a[][two][name]=x")
    }

    @Test func nestedContainers() throws {
        let text = try Self.text { encoder in
            var root = encoder.container(keyedBy: Key.self)
            var inner = root.nestedContainer(keyedBy: Key.self, forKey: .a)
            try inner.encode(1, forKey: .b)
            var list = root.nestedUnkeyedContainer(forKey: .c)
            try list.encode(2)
            var element = list.nestedContainer(keyedBy: Key.self)
            try element.encode(3, forKey: .a)
            var sublist = list.nestedUnkeyedContainer()
            try sublist.encode(4)
            try sublist.encodeNil()
            #expect(list.count == 3 && sublist.count == 2)
            #expect(sublist.codingPath.map(\.stringValue) == ["c", "Index 2"])
        }
        #expect(text == "a[b]=1&c[]=2&c[][a]=3&c[][]=4")
    }

    @Test func aContainerThatIsAskedForTwiceIsTheSame() throws {
        let text = try Self.text { encoder in
            var first = encoder.container(keyedBy: Key.self)
            try first.encode(1, forKey: .a)
            var second = encoder.container(keyedBy: Key.self)
            try second.encode(2, forKey: .b)
            var one = second.nestedContainer(keyedBy: Key.self, forKey: .c)
            try one.encode(3, forKey: .a)
            var two = first.nestedContainer(keyedBy: Key.self, forKey: .c)
            try two.encode(4, forKey: .b)
        }
        #expect(text == "a=1&b=2&c[a]=3&c[b]=4")
    }

    @Test func theLastValueOfAKeyCounts() throws {
        let text = try Self.text { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(["x": 1], forKey: .a)
            try container.encode(2, forKey: .b)
            try container.encode(3, forKey: .a)
        }
        #expect(text == "a=3&b=2")
    }

    @Test func superEncoders() throws {
        class Base: Encodable { var base = 1 }
        final class Derived: Base {
            override func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(2, forKey: .a)
                try super.encode(to: container.superEncoder())
                try super.encode(to: container.superEncoder(forKey: .b))
                var list = container.nestedUnkeyedContainer(forKey: .c)
                try super.encode(to: list.superEncoder())
            }
        }
        #expect(try FormEncoderTests.text(Derived()) == "a=2&b[base]=1&c[][base]=1&super[base]=1")
    }

    @Test func aSuperclassThatSharesTheContainer() throws {
        class Base: Encodable { var base = 1 }
        final class Derived: Base {
            override func encode(to encoder: any Encoder) throws {
                try super.encode(to: encoder)
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(2, forKey: .a)
            }
        }
        #expect(try FormEncoderTests.text(Derived()) == "a=2&base=1")
    }

    @Test func singleValuesInEachOther() throws {
        struct Wrapped<Value: Encodable>: Encodable {
            var value: Value
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(value)
            }
        }
        #expect(try FormEncoderTests.text(["a": Wrapped(value: Wrapped(value: [Wrapped(value: 1)]))]) == "a[]=1")
        #expect(try FormEncoderTests.text(Wrapped(value: ["a": Int??.some(.some(1))])) == "a=1")
        #expect(try FormEncoderTests.text(Wrapped(value: ["a": Wrapped(value: Int128.max)])) == "a=\(Int128.max)")
    }

    @Test func wideNumbersInEveryContainer() throws {
        let text = try Self.text { encoder in
            var object = encoder.container(keyedBy: Key.self)
            var list = object.nestedUnkeyedContainer(forKey: .a)
            try list.encode(Int128.min)
            try list.encode(UInt128.max)
            var one = object.superEncoder(forKey: .b).singleValueContainer()
            try one.encode(Int128.max)
            var other = object.superEncoder(forKey: .c).singleValueContainer()
            try other.encode(UInt128.max)
        }
        #expect(text == "a[]=\(Int128.min)&a[]=\(UInt128.max)&b=\(Int128.max)&c=\(UInt128.max)")
    }

    @Test func theSurroundingsAreHandedOn() throws {
        let key = try #require(CodingUserInfoKey(rawValue: "k"))
        var encoder = URLEncodedFormEncoder()
        encoder.userInfo[key] = "v"
        let shape = Shape { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(encoder.userInfo[key] as? String, forKey: .a)
        }
        #expect(try encoder.encode(shape) == "a=v")
    }

    @Test func nothingAtAllIsAnEmptyForm() throws {
        #expect(try URLEncodedFormEncoder().encode([String: Int]?.none).isEmpty)
    }
}
