import FoundationEssentials
import Trellis

/// The code of the page about requests.
enum RequestsPage {
    struct User: Codable, Sendable { var name: String }

    static func sendAtTheCall(_ session: Session) async throws {
        let (data, response) = try await session.data(
            "https://api.example.com/search", query: ["q": "tea & milk", "page": "2"],
            headers: ["Accept-Language": "en"], timeout: .seconds(5))
        let user = try await session.decode(User.self, from: "https://api.example.com/users/7")
        print(data.count, response.status, user.name)
    }

    static func chat(_ session: Session) async throws {
        try await session.withWebSocket("wss://example.com/chat", headers: ["X-Room": "7"]) { socket in
            try await socket.send("hello")
        }
    }

    static func sendAValue(_ newUser: User, _ session: Session) async throws {
        var request = Request("https://api.example.com/users", method: .post, body: try .json(newUser))
        request.headers[.accept] = "application/json"
        request.headers["X-Trace"] = "1"
        request.priority = .high
        let saved = try await session.decode(User.self, from: request)
        print(saved.name)
    }

    static func makeInOneExpression(_ newUser: User, token: String) throws -> Request {
        let created = Request("https://api.example.com/users", method: .post, body: try .json(newUser))
            .withHeader("X-Trace", "1")
            .withAuthorization(bearerToken: token)
            .withTimeouts(Timeouts(idle: .seconds(20)))
        return created
    }

    static func makeBodies() -> [Request] {
        let token = Request(
            "https://id.example.com/token", method: .post,
            body: .form(["grant_type": "client_credentials", "scope": "read"]))
        let upload = Request("https://files.example.com/big.iso", method: .put, body: .file("big.iso"))
        return [token, upload]
    }

    static func setDefaults() async throws {
        var configuration = SessionConfiguration()
        configuration.baseURL = "https://api.example.com/v2/"
        configuration.defaultHeaders["X-Client"] = "backup/1.0"
        configuration.defaultQueryItems = [URLQueryItem(name: "lang", value: "en")]
        let session = Session(configuration: configuration)
        let user = try await session.decode(User.self, from: "users/7")
        print(user.name)
    }

    enum API: RequestConvertible {
        case user(Int)
        case search(String)

        func asRequest() throws -> Request {
            switch self {
            case .user(let id): Request("users/\(id)")
            case .search(let text): Request("search", query: ["q": text])
            }
        }
    }

    static func sendAnAPI(_ session: Session) async throws {
        let user = try await session.decode(User.self, from: API.user(7))
        print(user.name)
    }
}
