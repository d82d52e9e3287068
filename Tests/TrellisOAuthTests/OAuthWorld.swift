import CurlEngine
import FoundationEssentials
import TrellisCore
import TrellisTesting

@testable import TrellisOAuth

/// An API, its authorization server and a session between them, without a network.
final class OAuthWorld: Sendable {
    static let issuer = "https://id.example.com"
    static let api = "https://api.example.com"
    static let secret = "s3cret/with:colon é"

    let clock = TestClock()
    let server: OAuthTestServer
    let transport: MockTransport
    let interceptor: AuthenticationInterceptor<OAuthAuthenticator>
    let session: Session

    /// - Parameter isAnswered: Is awaited before the authorization server answers.
    /// - Parameter change: Changes the authenticator.
    init(
        grant: OAuthGrant = .clientCredentials, client: OAuthClient = OAuthClient(id: "app", secret: OAuthWorld.secret),
        server location: OAuthServer = .issuer(OAuthWorld.issuer),
        rules: OAuthTestServer.Rules = OAuthTestServer.Rules(),
        configuration: SessionConfiguration = SessionConfiguration(),
        isAnswered: @escaping @Sendable () async throws -> Void = {},
        change: (inout OAuthAuthenticator) throws -> Void = { _ in }
    ) throws {
        let server = OAuthTestServer(
            Self.issuer, clients: ["app": Self.secret, "tool": nil], rules: rules)
        transport = MockTransport { request in
            if request.url.hasPrefix("\(Self.issuer)/") {
                try await isAnswered()
                return server.response(to: request) ?? MockResponse(status: 404)
            }
            return server.accepts(request["Authorization"])
                ? .text(request["Authorization"] ?? "") : MockResponse(status: 401)
        }
        self.server = server
        let clock = clock
        var oauth = try OAuthAuthenticator(
            location, client: client, grant: grant, origin: Self.api, now: { Self.date(clock) }, random: { 0 })
        try change(&oauth)
        interceptor = oauth.interceptor(clock: clock)
        var configuration = configuration
        configuration.authentication = .interceptor(interceptor)
        session = Session(configuration: configuration, transport: transport, clock: clock)
    }

    /// Returns the instant of a clock as a date.
    static func date(_ clock: TestClock) -> Date {
        Date(timeIntervalSince1970: 1_800_000_000 + clock.now.elapsed / .seconds(1))
    }

    /// Sends a request to the API, and returns the number of the token that the API received, or the status.
    func get(_ path: String = "/") async throws -> String {
        let (data, response) = try await session.data(Self.api + path)
        guard response.status.code == 200 else { return "\(response.status.code)" }
        return String(decoding: data, as: UTF8.self)
    }

    /// The requests that went to the authorization server's token endpoint.
    var tokenRequests: [TransportRequest] { transport.requests.filter { $0.url == "\(Self.issuer)/token" } }
}
