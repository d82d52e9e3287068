import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisTesting

@testable import TrellisCore

/// A bearer token, as the credential of tests.
struct Token: AuthenticationCredential, Equatable {
    let text: String
    var requiresRefresh = false

    init(_ text: String, requiresRefresh: Bool = false) {
        self.text = text
        self.requiresRefresh = requiresRefresh
    }
}

/// An authenticator that issues `token-1`, `token-2` …, when the test allows it.
final class TokenAuthenticator: Authenticator {
    /// The body of one refresh; the number of the refresh counts from 1.
    typealias Refresh = @Sendable (Int) async throws -> Token

    private let count = Locked(0)
    private let make: Refresh

    init(_ make: @escaping Refresh = { Token("token-\($0)") }) { self.make = make }

    var refreshes: Int { count.withLock { $0 } }

    func apply(_ credential: Token, to request: inout Request) {
        request = request.withAuthorization(bearerToken: credential.text)
    }

    func refresh(_ credential: Token, using session: RefreshSession) async throws -> Token {
        let number = count.next()
        return try await make(number)
    }
}

/// A server that accepts one token, and a session with an interceptor.
struct TokenWorld: Sendable {
    struct RefreshFailed: Error, Equatable {}

    let transport: MockTransport
    let session: Session
    let authenticator: TokenAuthenticator
    let interceptor: AuthenticationInterceptor<TokenAuthenticator>
    let clock = TestClock()

    init(
        accepting accepted: Set<String>, credential: Token?, window: RefreshWindow? = RefreshWindow(),
        timeout: Duration? = nil, _ refresh: @escaping TokenAuthenticator.Refresh = { Token("token-\($0)") }
    ) {
        transport = MockTransport { request in
            let field = request.request.headers[.authorization] ?? ""
            let token = field.split(separator: " ").last.map(String.init) ?? "none"
            return accepted.contains(token) ? .text(token) : MockResponse(status: 401)
        }
        authenticator = TokenAuthenticator(refresh)
        interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: credential, refreshWindow: window, refreshTimeout: timeout,
            clock: clock)
        var configuration = SessionConfiguration()
        configuration.steps.intercept(with: interceptor)
        session = Session(configuration: configuration, transport: transport)
    }

    /// Lets the refresh in progress exceed its limit, or sets the token `set`, and returns when the refresh was cancelled.
    func endRefresh(byTimeout isTimedOut: Bool, _ cancelled: LoopbackServer.Gate) async {
        if !isTimedOut { interceptor.credential = Token("set") }
        while !cancelled.isOpen, !Task.isCancelled {
            if isTimedOut { clock.move(by: .seconds(5)) }
            await session.settle()
        }
    }

    /// Sends a request, and returns the token that the server received, or the status.
    func get(_ path: String = "") async throws -> String {
        let (data, response) = try await session.data("http://a.example/\(path)")
        return response.status.code == 200 ? String(decoding: data, as: UTF8.self) : "\(response.status.code)"
    }
}
