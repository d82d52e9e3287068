import FoundationEssentials
import HTTPTypes
import Testing
import TrellisCore

/// The types that convert to a URL.
struct URLConvertibleTests {
    /// A service's requests in one type.
    private enum Users: RequestConvertible {
        case list(page: Int)
        case create(name: String)
        case delete(id: Int)

        func asRequest() throws -> Request {
            switch self {
            case .list(let page): Request("users").addingQuery(["page": "\(page)"])
            case .create(let name):
                try Request("users").withMethod(.post).withParameters(["name": name], encoder: .json)
            case .delete(let id): Request("users/\(id)").withMethod(.delete)
            }
        }
    }

    private enum Place: URLConvertible {
        case home, user(Int)
        func asURL() throws -> URL { try asURLString().asURL() }
        func asURLString() -> String {
            switch self {
            case .home: "https://api.example.com/"
            case .user(let id): "https://api.example.com/users/\(id)"
            }
        }
    }

    @Test func componentsAreAURL() throws {
        var components = URLComponents()
        components.scheme = "https"
        components.host = "example.com"
        components.path = "/a b"
        components.queryItems = [URLQueryItem(name: "q", value: "ü&=")]
        #expect(try components.asURLString() == "https://example.com/a%20b?q=%C3%BC%26%3D")
        #expect(try components.asURL().absoluteString == "https://example.com/a%20b?q=%C3%BC%26%3D")
        #expect(try Request(components, method: .delete).asRequest().url == "https://example.com/a%20b?q=%C3%BC%26%3D")
    }

    @Test func componentsThatDoNotFitAreAnError() {
        var components = URLComponents()
        components.host = "example.com"
        components.path = "a"
        for convert in [{ _ = try components.asURL() }, { _ = try components.asRequest() }] {
            #expect { try convert() } throws: { ($0 as? TrellisError)?.kind == .invalidURL }
        }
    }

    @Test func aTextThatIsNoURLIsAnErrorWhenAURLIsAskedFor() {
        #expect { try "http://[".asURL() } throws: { ($0 as? TrellisError)?.kind == .invalidURL }
    }

    @Test func aURLWithABaseIsAbsolute() throws {
        let url = try #require(URL(string: "b?c", relativeTo: URL(string: "http://localhost/a/")))
        #expect(try url.asURLString() == "http://localhost/a/b?c")
    }

    @Test func aTypeOfRequests() throws {
        #expect(try Users.list(page: 2).asRequest().url == "users?page=2")
        let created = try Users.create(name: "Ada").asRequest()
        #expect(created.method == .post && created.body?.text == #"{"name":"Ada"}"#)
        #expect(try Users.delete(id: 7).asRequest().method == .delete)
    }

    @Test func aTypeOfPlaces() throws {
        #expect(try Place.home.asRequest().method == .get)
        #expect(try Place.user(7).asURL().path == "/users/7")
    }
}
