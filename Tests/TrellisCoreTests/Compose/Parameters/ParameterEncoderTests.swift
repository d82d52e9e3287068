import FoundationEssentials
import HTTPTypes
import Testing
import TrellisCore

/// The place of encoded parameters in a request, and their media type.
struct ParameterEncoderTests {
    private struct Search: Codable, Equatable, Sendable {
        var term = "a b", page = 2
    }

    private static let form = "page=2&term=a%20b"
    private static let formType = "application/x-www-form-urlencoded; charset=utf-8"

    private static func bytes(_ request: Request) -> String? {
        request.body?.text
    }

    @Test(arguments: [
        ("GET", true), ("HEAD", true), ("DELETE", true), ("POST", false), ("PUT", false), ("PATCH", false),
        ("QUERY", false), ("OPTIONS", false), ("TRACE", false), ("LOCK", false), ("get", false),
    ])
    func aFormGoesWhereTheMethodHasIt(_ name: String, _ isQuery: Bool) throws {
        let method = try #require(HTTPRequest.Method(name))
        let request = try Request("http://localhost/a", method: method).withParameters(Search(), encoder: .form)
        #expect(request.url == (isQuery ? "http://localhost/a?\(Self.form)" : "http://localhost/a"))
        #expect(Self.bytes(request) == (isQuery ? nil : Self.form))
        #expect(request.body?.contentType == (isQuery ? nil : Self.formType))
    }

    @Test func theDestinationCanBeChosen() throws {
        let posted = try Request("http://localhost/", method: .post, body: .string("x"))
            .withParameters(Search(), encoder: .form(destination: .query))
        #expect(posted.url == "http://localhost/?\(Self.form)")
        #expect(Self.bytes(posted) == "x")
        let got = try Request("http://localhost/").withParameters(Search(), encoder: .form(destination: .body))
        #expect(got.url == "http://localhost/")
        #expect(Self.bytes(got) == Self.form)
    }

    @Test func aFormWithOptions() throws {
        let encoder = URLEncodedFormEncoder(keyEncoding: .uppercased, spaceEncoding: .plusReplaced)
        let request = try Request("http://localhost/").withParameters(Search(), encoder: .form(encoder: encoder))
        #expect(request.url == "http://localhost/?PAGE=2&TERM=a+b")
    }

    @Test func nothingChangesNoQueryAndMakesAnEmptyBody() throws {
        let empty: [String: Int] = [:]
        #expect(try Request("http://localhost/a").withParameters(empty).url == "http://localhost/a")
        let request = try Request("http://localhost/a", method: .post).withParameters(empty)
        #expect(Self.bytes(request)?.isEmpty == true)
        #expect(request.body?.contentType == Self.formType)
    }

    @Test func theFormIsTheDefault() throws {
        #expect(try Request("http://localhost/").withParameters(Search()).url == "http://localhost/?\(Self.form)")
    }

    @Test func jsonIsTheBodyWhateverTheMethod() throws {
        let request = try Request("http://localhost/", body: .string("x")).withParameters(Search(), encoder: .json)
        #expect(request.url == "http://localhost/" && request.body?.contentType == "application/json")
        let text = try #require(Self.bytes(request))
        #expect(try JSONDecoder().decode(Search.self, from: Data(text.utf8)) == Search())
    }

    @Test func theKindsOfJSON() throws {
        let value = ["b": 1, "a": 2]
        let sorted = try Request("http://localhost/").withParameters(value, encoder: .sortedKeys)
        #expect(Self.bytes(sorted) == #"{"a":2,"b":1}"#)
        let pretty = try Request("http://localhost/").withParameters(["a": 1], encoder: .prettyPrinted)
        #expect(Self.bytes(pretty) == "{\n  \"a\" : 1\n}")
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        struct Name: Encodable { var firstName = "Ada" }
        let own = try Request("http://localhost/").withParameters(Name(), encoder: .json(encoder: encoder))
        #expect(Self.bytes(own) == #"{"first_name":"Ada"}"#)
    }

    @Test func anEncoderOfOnesOwn() throws {
        struct Described: ParameterEncoder {
            func encode(_ parameters: some Encodable & Sendable, into request: inout Request) throws {
                request.headers[.from] = "\(parameters)"
            }
        }
        #expect(try Request("http://localhost/").withParameters(3, encoder: Described()).headers[.from] == "3")
    }

    // MARK: Failures

    @Test(arguments: [true, false])
    func whatCannotBeEncodedIsAnErrorThatSaysWhere(_ isQuery: Bool) throws {
        struct Refusal: Error {}
        let encoder = URLEncodedFormEncoder(dateEncoding: .custom { _ in throw Refusal() })
        let request = Request("http://localhost/?token=abc", method: .put)
        let error = try #require(throws: TrellisError.self) {
            try request.withParameters(
                ["when": [Date()]], encoder: .form(destination: isQuery ? .query : .body, encoder: encoder))
        }
        #expect(error.kind == .invalidRequest)
        #expect(error.method == .put && error.url == "http://localhost/?token=REDACTED")
        #expect("\(error)".contains("the parameters cannot be encoded: at when.0: its encoding failed (Refusal())"))
        guard case EncodingError.invalidValue(_, let context)? = error.underlying else {
            Issue.record("\(error)")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["when", "Index 0"])
    }

    @Test func jsonHasNoNumberForInfinity() throws {
        let error = try #require(throws: TrellisError.self) {
            try Request("http://localhost/").withParameters(["a": ["b": Double.infinity]], encoder: .json)
        }
        #expect(error.kind == .invalidRequest && "\(error)".contains("encoded: at a.b: "))
        #expect(error.underlying is EncodingError)
    }

    @Test func whatAValueThrowsIsTheUnderlyingError() throws {
        struct Refusal: Error {}
        struct Refusing: Encodable { func encode(to encoder: any Encoder) throws { throw Refusal() } }
        for encode in [
            { try Request("http://localhost/").withParameters(Refusing(), encoder: .form) },
            { try Request("http://localhost/").withParameters(Refusing(), encoder: .json) },
        ] {
            let error = try #require(throws: TrellisError.self) { try encode() }
            #expect(error.underlying is Refusal)
            #expect("\(error)".hasSuffix(": the parameters cannot be encoded: Refusal()"))
        }
    }
}

extension RequestBody {
    /// The bytes of a body in memory, as text.
    var text: String? {
        get {
            guard case .data(let data) = source else { return nil }
            return String(decoding: data, as: UTF8.self)
        }
    }
}
