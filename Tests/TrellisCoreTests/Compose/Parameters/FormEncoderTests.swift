import Foundation
import Testing

@testable import TrellisCore

/// The options of the form encoder, one by one.
struct FormEncoderTests {
    typealias Form = URLEncodedFormEncoder

    /// Returns the encoded form, percent-decoded for readability.
    static func text(_ value: some Encodable, _ change: (inout Form) -> Void = { _ in }) throws -> String {
        var encoder = Form()
        change(&encoder)
        let text = try encoder.encode(value)
        return try #require(text.removingPercentEncoding)
    }

    private struct Invalid: Error, Equatable {}

    @Test func theDefaults() throws {
        struct Everything: Encodable {
            var z = "a b+c/d?e"
            var array = [3, 1, 2]
            var yes = true
            var data = Data([255, 254])
            var date = Date(timeIntervalSinceReferenceDate: 1.5)
            var object = ["k": 1.0]
            var missing: Int?
        }
        #expect(
            try Form().encode(Everything())
                == "array%5B%5D=3&array%5B%5D=1&array%5B%5D=2&data=//4%3D&date=1.5&object%5Bk%5D=1.0&yes=1&z=a%20b%2Bc/d?e"
        )
    }

    @Test func keysAreSortedAndElementsAreNot() throws {
        struct Keys: Encodable {
            var b = [10, 9, 11, 2]
            var a = ["z": 1, "y": 2]
        }
        #expect(try Self.text(Keys()) == "a[y]=2&a[z]=1&b[]=10&b[]=9&b[]=11&b[]=2")
    }

    @Test func withoutSortingKeysComeAsTheyAreWritten() throws {
        struct Keys: Encodable { var c = 1, a = 2, b = 3 }
        #expect(try Self.text(Keys()) { $0.alphabetizeKeyValuePairs = false } == "c=1&a=2&b=3")
    }

    @Test(
        arguments: [
            (.brackets, "a[]=1&a[]=2"), (.noBrackets, "a=1&a=2"), (.indexInBrackets, "a[0]=1&a[1]=2"),
            (.custom { "\($0).\($1)" }, "a.0=1&a.1=2"),
        ] as [(Form.ArrayEncoding, String)])
    func arrays(_ encoding: Form.ArrayEncoding, _ text: String) throws {
        #expect(try Self.text(["a": [1, 2]]) { $0.arrayEncoding = encoding } == text)
    }

    @Test(
        arguments: [
            (.brackets, "a[][][]=1"), (.noBrackets, "a=1"), (.indexInBrackets, "a[0][0][0]=1"),
        ] as [(Form.ArrayEncoding, String)])
    func arraysInArrays(_ encoding: Form.ArrayEncoding, _ text: String) throws {
        #expect(try Self.text(["a": [[[1]]]]) { $0.arrayEncoding = encoding } == text)
    }

    @Test func objectsInArrays() throws {
        #expect(try Self.text(["a": [["b": 1], ["b": 2]]]) == "a[][b]=1&a[][b]=2")
        let indexed = try Self.text(["a": [["b": 1], ["b": 2]]]) { $0.arrayEncoding = .indexInBrackets }
        #expect(indexed == "a[0][b]=1&a[1][b]=2")
    }

    @Test(
        arguments: [
            (.brackets, .bareBrackets, "a[]&b=1"), (.indexInBrackets, .bareBrackets, "a[]&b=1"),
            (.noBrackets, .bareBrackets, "b=1"), (.custom { key, _ in key }, .bareBrackets, "b=1"),
            (.brackets, .dropKey, "b=1"), (.indexInBrackets, .dropKey, "b=1"),
        ] as [(Form.ArrayEncoding, Form.EmptyArrayEncoding, String)])
    func emptyArrays(_ array: Form.ArrayEncoding, _ empty: Form.EmptyArrayEncoding, _ text: String) throws {
        struct Lists: Encodable { var a: [Int] = [], b = 1 }
        let written = try Self.text(Lists()) {
            $0.arrayEncoding = array
            $0.emptyArrayEncoding = empty
        }
        #expect(written == text)
    }

    @Test func emptyObjectsHaveNoPlaceInTheFormat() throws {
        struct Empty: Encodable {}
        struct Objects: Encodable { var a: [String: Int] = [:], b = Empty(), c = 1 }
        #expect(try Self.text(Objects()) == "c=1")
        #expect(try Self.text(Empty()).isEmpty)
        #expect(try Self.text([String: Int]()).isEmpty)
    }

    @Test(arguments: [(.numeric, "a=1&b=0"), (.literal, "a=true&b=false")] as [(Form.BoolEncoding, String)])
    func booleans(_ encoding: Form.BoolEncoding, _ text: String) throws {
        #expect(try Self.text(["a": true, "b": false]) { $0.boolEncoding = encoding } == text)
    }

    @Test(
        arguments: [
            (.base64, "a=AQI="), (.deferredToData, "a[]=1&a[]=2"), (.custom { "\($0.count)" }, "a=2"),
        ] as [(Form.DataEncoding, String)])
    func data(_ encoding: Form.DataEncoding, _ text: String) throws {
        #expect(try Self.text(["a": Data([1, 2])]) { $0.dataEncoding = encoding } == text)
    }

    @Test(
        arguments: [
            (.deferredToDate, 978_307_200.5, "0.5"), (.secondsSince1970, 0.25, "0.25"), (.secondsSince1970, -1, "-1.0"),
            (.millisecondsSince1970, 0.25, "250.0"), (.iso8601, 0.75, "1970-01-01T00:00:00Z"),
            (.iso8601, 951_827_696, "2000-02-29T12:34:56Z"),
            (.iso8601WithFractionalSeconds, 0.125, "1970-01-01T00:00:00.125Z"),
            (.iso8601WithFractionalSeconds, -0.5, "1969-12-31T23:59:59.500Z"),
            (.custom { "\($0.timeIntervalSince1970 > 0)" }, 1, "true"),
        ] as [(Form.DateEncoding, Double, String)])
    func dates(_ encoding: Form.DateEncoding, _ seconds: Double, _ text: String) throws {
        #expect(
            try Self.text(["a": Date(timeIntervalSince1970: seconds)]) { $0.dateEncoding = encoding } == "a=\(text)")
    }

    @Test func datesInAStyle() throws {
        let encoding = Form.DateEncoding.formatted(.iso8601.year().month().day())
        #expect(
            try Self.text(["a": Date(timeIntervalSince1970: 951_827_696)]) { $0.dateEncoding = encoding }
                == "a=2000-02-29")
    }

    @Test(
        arguments: [
            (.useDefaultKeys, "oneTwo", "oneTwo"), (.convertToSnakeCase, "oneTwoThree", "one_two_three"),
            (.convertToSnakeCase, "myURLProperty", "my_url_property"), (.convertToSnakeCase, "valueURL", "value_url"),
            (.convertToSnakeCase, "URLValue", "url_value"), (.convertToSnakeCase, "user2Name", "user2_name"),
            (.convertToSnakeCase, "one_Two", "one_two"), (.convertToSnakeCase, "_myKey", "_my_key"),
            (.convertToSnakeCase, "", ""), (.convertToKebabCase, "oneTwoThree", "one-two-three"),
            (.capitalized, "oneTwo", "OneTwo"), (.capitalized, "", ""), (.uppercased, "oneTwo", "ONETWO"),
            (.lowercased, "oneTwo", "onetwo"), (.custom { "<\($0)>" }, "a", "<a>"),
        ] as [(Form.KeyEncoding, String, String)])
    func keys(_ encoding: Form.KeyEncoding, _ key: String, _ written: String) throws {
        #expect(try Self.text([key: 1]) { $0.keyEncoding = encoding } == "\(written)=1")
    }

    @Test func eachKeyIsEncodedByItself() throws {
        #expect(
            try Self.text(["oneTwo": ["threeFour": [1]]]) { $0.keyEncoding = .capitalized } == "OneTwo[ThreeFour][]=1")
    }

    @Test(
        arguments: [
            (.brackets, "a[b][c]=1"), (.dots, "a.b.c=1"), (.custom { "/\($0)" }, "a/b/c=1"),
        ] as [(Form.KeyPathEncoding, String)])
    func keyPaths(_ encoding: Form.KeyPathEncoding, _ text: String) throws {
        #expect(try Self.text(["a": ["b": ["c": 1]]]) { $0.keyPathEncoding = encoding } == text)
    }

    @Test(
        arguments: [
            (.dropKey, "c=1&d[]=1&d[]=2"), (.dropValue, "a=&c=1&d[]=1&d[]=&d[]=2"),
            (.null, "a=null&c=1&d[]=1&d[]=null&d[]=2"), (.custom { "?" }, "a=?&c=1&d[]=1&d[]=?&d[]=2"),
            (.custom { nil }, "c=1&d[]=1&d[]=2"),
        ] as [(Form.NilEncoding, String)])
    func nothing(_ encoding: Form.NilEncoding, _ text: String) throws {
        struct Optionals: Encodable {
            var a: String?
            var c: Int? = 1
            var d: [Int?] = [1, nil, 2]
        }
        #expect(try Self.text(Optionals()) { $0.nilEncoding = encoding } == text)
    }

    @Test func elementsKeepTheirIndexWhereOneIsLeftOut() throws {
        #expect(try Self.text(["a": [1, nil, 2]]) { $0.arrayEncoding = .indexInBrackets } == "a[0]=1&a[2]=2")
    }

    @Test(
        arguments: [
            (.percentEscaped, "a%20b=c%20d%2B%0A"), (.plusReplaced, "a+b=c+d%2B%0A"),
        ] as [(Form.SpaceEncoding, String)])
    func spaces(_ encoding: Form.SpaceEncoding, _ text: String) throws {
        #expect(try Form(spaceEncoding: encoding).encode(["a b": "c d+\n"]) == text)
    }

    @Test(
        arguments: [
            (.default, "-._~/?*!'()", "-._~/?%2A%21%27%28%29"), (.unreserved, "-._~/?", "-._~%2F%3F"),
            (.html, "*-._~", "*-._%7E"), (.init("[]a"), "[ab]", "[a%62]"),
            (.unreserved.union(.init("é!")), "é!", "%C3%A9!"),
            (.init("%&+#= \u{7f}\n"), "%&+#= \u{7f}\n", "%25%26%2B%23%3D%20%7F%0A"),
            (.default, "ß€😀", "%C3%9F%E2%82%AC%F0%9F%98%80"),
            (.default, "\0", "%00"), (.default, "~\u{80}", "~%C2%80"),
        ] as [(Form.AllowedCharacters, String, String)])
    func characters(_ allowed: Form.AllowedCharacters, _ value: String, _ written: String) throws {
        #expect(
            try Form(keyEncoding: .custom { _ in "" }, allowedCharacters: allowed).encode(["a": value]) == "=\(written)"
        )
    }

    @Test func keysAreEscapedAsValuesAre() throws {
        #expect(try Form().encode(["a=b&c": ["ü]": 1]]) == "a%3Db%26c%5B%C3%BC%5D%5D=1")
        #expect(try Form(allowedCharacters: .default.union(.init("[]"))).encode(["a": [1]]) == "a[]=1")
    }
}
