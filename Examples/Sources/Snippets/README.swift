import Trellis

struct User: Codable, Sendable {
    var id: Int
    var name: String
}

struct APIProblem: Decodable, Sendable { var message: String }

struct Tokens: AuthenticationCredential, Decodable {
    var access: String
    var refresh: String
    var requiresRefresh: Bool { false }  // a 401 begins the refresh
}

struct OAuth: Authenticator {
    func apply(_ tokens: Tokens, to request: inout Request) {
        request.headers[.authorization] = "Bearer " + tokens.access
    }

    func refresh(_ tokens: Tokens, using session: RefreshSession) async throws -> Tokens {
        let body = try RequestBody.json(["refresh": tokens.refresh])
        return try await session.decode(from: Request("token", method: .post, body: body))
    }
}

func makeSession(_ tokens: Tokens) -> Session {
    var configuration = SessionConfiguration()
    configuration.baseURL = "https://api.example.com/v2/"  // ends in a slash; paths begin without one
    configuration.defaultHeaders["X-API-Key"] = "abc"
    configuration.steps.intercept(with: RetryPolicy(retryLimit: 3))
    configuration.steps.intercept(with: AuthenticationInterceptor(authenticator: OAuth(), credential: tokens))
    configuration.eventMonitors = [RequestLog()]
    return Session(configuration: configuration)
}

func useService(_ session: Session) async throws {
    let user = try await session.decode(User.self, from: "users/7")
    let body = try RequestBody.json(User(id: 8, name: "Ada"))
    let created = try await session.decode(User.self, from: Request("users", method: .post, body: body))
    do {
        _ = try await session.decode(User.self, from: "users/9", orError: APIProblem.self)
    } catch let error as ErrorResponse<APIProblem> {
        print(user, created, error.response.status, error.body.message)
    }
}
