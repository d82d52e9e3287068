import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore

/// The base URL and the default query of a session.
struct URLDefaultsTests {
    private struct Unmakeable: Error {}
    private struct BadURL: URLConvertible { func asURL() throws -> URL { throw Unmakeable() } }

    private static func url(
        _ url: String, base: (any URLConvertible)? = nil, items: [(String, String?)] = []
    ) throws -> String {
        try RequestPreparationTests.prepare(Request(url)) {
            $0.baseURL = base
            $0.defaultQueryItems = items.map { URLQueryItem(name: $0.0, value: $0.1) }
        }.url
    }

    @Test(arguments: [
        ("users", "https://api.example.com/v2/users"), ("users?page=2", "https://api.example.com/v2/users?page=2"),
        ("/users", "https://api.example.com/users"), ("../v1/users", "https://api.example.com/v1/users"),
        ("?page=2", "https://api.example.com/v2/?page=2"), ("", "https://api.example.com/v2/"),
        ("//other.example/a", "https://other.example/a"), ("http://other.example/a", "http://other.example/a"),
        ("grün 1", "https://api.example.com/v2/gr%C3%BCn%201"),
    ])
    func relativeURLsAreResolvedAgainstTheBase(_ url: String, _ target: String) throws {
        #expect(try Self.url(url, base: "https://api.example.com/v2/") == target)
        #expect(try Self.url(url, base: URL(string: "https://api.example.com/v2/")) == target)
        #expect(try Self.url(url, base: URLComponents(string: "https://api.example.com/v2/")) == target)
    }

    @Test func theRequestThatIsSentHasTheWholeURL() throws {
        let prepared = try RequestPreparationTests.prepare(Request("a")) { $0.baseURL = "http://localhost/" }
        #expect(prepared.request.url == "http://localhost/a")
    }

    @Test func userInformationOfTheBaseIsForWhatIsRelativeToIt() throws {
        func lines(_ url: String) throws -> [String] {
            try RequestPreparationTests.lines(Request(url)) { $0.baseURL = "http://Aladdin:open%20sesame@localhost/" }
        }
        #expect(try lines("a") == ["Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="])
        #expect(try lines("http://localhost/a").isEmpty)
        #expect(try lines("//localhost/a").isEmpty)
    }

    @Test func withoutABaseARelativeURLIsAnError() {
        #expect { try Self.url("users") } throws: { ($0 as? TrellisError)?.kind == .invalidURL }
    }

    @Test func aSchemeMakesAURLAbsolute() {
        #expect { try Self.url("localhost:8080/a", base: "http://h/") } throws: {
            "\($0)".contains("it has no scheme (did you mean http://localhost:8080/a ?)")
        }
    }

    @Test func aBaseThatIsNoneIsAnErrorOfRelativeURLsOnly() throws {
        #expect { try Self.url("a", base: "users/") } throws: { "\($0)".contains("base URL is not absolute") }
        #expect { try Self.url("a", base: "mailto:x") } throws: { "\($0)".contains("base URL is not absolute") }
        #expect { try Self.url("a", base: BadURL()) } throws: {
            ($0 as? TrellisError)?.underlying is Unmakeable && ($0 as? TrellisError)?.kind == .invalidURL
        }
        #expect(try Self.url("http://h/", base: BadURL()) == "http://h/")
    }

    /// A URL that cannot be made is an error: an empty text would stand for the base URL.
    @Test func aURLThatCannotBeMadeIsNotTakenForTheBase() {
        #expect(throws: Unmakeable.self) {
            try RequestPreparationTests.prepare(Request(BadURL())) { $0.baseURL = "http://localhost/" }
        }
    }

    @Test(arguments: [
        ("http://h/", "http://h/?key=a%26b&v=1&flag"), ("http://h/?q", "http://h/?q&key=a%26b&v=1&flag"),
        ("http://h/?v=2", "http://h/?v=2&key=a%26b&flag"), ("http://h/?v", "http://h/?v&key=a%26b&flag"),
        ("http://h/?k%65y=x&fl%61g", "http://h/?k%65y=x&fl%61g&v=1"),
        ("http://h/?V=2", "http://h/?V=2&key=a%26b&v=1&flag"),
        ("http://h/?key&v&flag", "http://h/?key&v&flag"), ("http://h/?a=v", "http://h/?a=v&key=a%26b&v=1&flag"),
        ("http://h/?%6=x", "http://h/?%6=x&key=a%26b&v=1&flag"), ("http://h/#v=2", "http://h/?key=a%26b&v=1&flag"),
    ])
    func itemsAreAddedWhereTheirNameIsMissing(_ url: String, _ target: String) throws {
        #expect(try Self.url(url, items: [("key", "a&b"), ("v", "1"), ("flag", nil)]) == target)
    }

    @Test func namesAreComparedDecoded() throws {
        #expect(
            try Self.url("http://h/?a+b=1&%C3%BC=2", items: [("a b", "x"), ("ü", "y")]) == "http://h/?a+b=1&%C3%BC=2")
    }

    @Test func baseAndItemsTogether() throws {
        #expect(try Self.url("a?b=c", base: "http://h/x/", items: [("k", "v")]) == "http://h/x/a?b=c&k=v")
    }

    @Test func withoutEitherThereIsNothingToDo() {
        #expect(URLDefaults(baseURL: nil, queryItems: []) == nil)
    }

    @Test func theLanguageIsSentUnlessTheFieldsHaveOne() throws {
        let request = Request("http://h/")
        #expect(try RequestPreparationTests.lines(request) { $0.acceptLanguage = "de" } == ["Accept-Language: de"])
        let lines = try RequestPreparationTests.lines(request) {
            $0.acceptLanguage = "de"
            $0.defaultHeaders = [.acceptLanguage: "fr"]
        }
        #expect(lines == ["Accept-Language: fr"])
    }
}
