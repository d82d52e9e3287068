import Trellis

/// The credential of the page Testing.
struct Tokens: AuthenticationCredential, Decodable {
    var access: String
    var requiresRefresh: Bool { false }
}

/// The authenticator of the page Testing. A refresh is a request to `token`, relative to the base URL.
struct OAuth: Authenticator {
    func apply(_ tokens: Tokens, to request: inout Request) {
        request.headers[.authorization] = "Bearer " + tokens.access
    }

    func refresh(_ tokens: Tokens, using session: RefreshSession) async throws -> Tokens {
        try await session.decode(from: Request("token", method: .post))
    }
}
