import FoundationEssentials
import HTTPTypes
import Testing
import TrellisCore

/// Parameters in dictionaries whose types are known at run time only.
struct ParameterEncodingTests {
    private static let values: [String: any Sendable] = [
        "text": "a b", "number": 1, "real": 0.5, "yes": true, "nothing": String?.none, "something": Int?.some(2),
        "list": [1, "x", [true] as [any Sendable], ["k": 1] as [String: any Sendable]] as [any Sendable],
        "object": ["b": [3, 1, 2], "a": Optional<[String: any Sendable]>.some(["c": "d"])] as [String: any Sendable],
        "void": Optional<[String: any Sendable]>.none, "typed": ["x": [1: "y"]],
    ]

    @Test func everythingInAForm() throws {
        let request = try Request("http://localhost/").withParameters(Self.values, encoding: .form)
        let query = request.url.dropFirst("http://localhost/?".count)
        #expect(
            query.replacing("%5B", with: "[").replacing("%5D", with: "]")
                == """
                list[]=1&list[]=x&list[][]=1&list[][k]=1&number=1&object[a][c]=d&object[b][]=3&object[b][]=1&object[b][]=2&\
                real=0.5&something=2&text=a%20b&typed[x][1]=y&yes=1
                """)
    }

    @Test func everythingInJSON() throws {
        let request = try Request("http://localhost/", method: .post).withParameters(Self.values, encoding: .sortedKeys)
        #expect(request.body?.contentType == "application/json")
        #expect(
            request.body?.text == """
                {"list":[1,"x",[true],{"k":1}],"nothing":null,"number":1,"object":{"a":{"c":"d"},"b":[3,1,2]},"real":0.5,\
                "something":2,"text":"a b","typed":{"x":{"1":"y"}},"void":null,"yes":true}
                """)
    }

    @Test func theEncodersOptionsHoldForTheValues() throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        let date = Date(timeIntervalSince1970: 1)
        let json = try Request("http://localhost/").withParameters(
            ["a": [date] as [any Sendable]], encoding: JSONEncoding(encoder: encoder))
        #expect(json.body?.text == #"{"a":[1]}"#)
        let form = URLEncodedFormEncoder(dataEncoding: .custom { "\($0.count)" }, dateEncoding: .secondsSince1970)
        let request = try Request("http://localhost/").withParameters(
            ["a": date, "b": Data([1])], encoding: URLEncoding(encoder: .form(encoder: form)))
        #expect(request.url == "http://localhost/?a=1.0&b=1")
    }

    @Test(
        arguments: [
            (.default, .get, true), (.default, .post, false), (.queryString, .post, true), (.httpBody, .get, false),
        ] as [(URLEncoding, HTTPRequest.Method, Bool)])
    func destinations(_ encoding: URLEncoding, _ method: HTTPRequest.Method, _ isQuery: Bool) throws {
        let request = try Request("http://localhost/", method: method).withParameters(["a": 1], encoding: encoding)
        #expect(request.url == (isQuery ? "http://localhost/?a=1" : "http://localhost/"))
        #expect(request.body?.text == (isQuery ? nil : "a=1"))
    }

    @Test func arraysAndBooleans() throws {
        let encoding = URLEncoding(arrayEncoding: .noBrackets, boolEncoding: .literal)
        let values: [String: any Sendable] = ["a": [1, 2], "b": true]
        #expect(try Request("http://x/").withParameters(values, encoding: encoding).url == "http://x/?a=1&a=2&b=true")
    }

    @Test func whatIsNotEncodableIsAnErrorThatSaysWhere() throws {
        struct Opaque: Sendable {}
        let values: [String: any Sendable] = ["a": [["b": Opaque()] as [String: any Sendable]] as [any Sendable]]
        for encode in [
            { try Request("http://localhost/").withParameters(values, encoding: .form) },
            { try Request("http://localhost/").withParameters(values, encoding: .json) },
        ] {
            let error = try #require(throws: TrellisError.self) { try encode() }
            #expect("\(error)".contains("at a.0.b: it is not Encodable"))
        }
    }

    @Test func tenThousandLevelsAreAnError() throws {
        var value: any Sendable = 1
        for _ in 0..<10_000 { value = [value] as [any Sendable] }
        let values = ["a": value]
        for encode in [
            { try Request("http://localhost/").withParameters(values, encoding: .form) },
            { try Request("http://localhost/").withParameters(values, encoding: .json) },
        ] {
            let error = try #require(throws: TrellisError.self) { try encode() }
            #expect("\(error)".contains("it is nested in more than"))
        }
    }
}
