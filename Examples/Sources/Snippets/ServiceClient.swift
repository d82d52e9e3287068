import Trellis

struct User: Codable, Sendable { var name: String }
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
        try await session.decode(from: Request("token", method: .post, body: .json(["refresh": tokens.refresh])))
    }
}

func useService(_ tokens: Tokens) async throws {
    var configuration = SessionConfiguration()
    configuration.baseURL = "https://api.example.com/v2/"  // ends in a slash; paths begin without one
    configuration.defaultHeaders["X-API-Key"] = "abc"
    configuration.retry = RetryPolicy(retryLimit: 3)
    configuration.authentication = .interceptor(AuthenticationInterceptor(authenticator: OAuth(), credential: tokens))
    configuration.eventMonitors = [RequestLog()]
    let session = Session(configuration: configuration)

    let user = try await session.decode(User.self, from: "users/7")
    do {
        let copy = try Request("users", method: .post, body: .json(user))
        print(try await session.decode(User.self, from: copy, orError: APIProblem.self))
    } catch let error as ErrorResponse<APIProblem> {
        print(error.response.status, error.body.message)
    }
}
