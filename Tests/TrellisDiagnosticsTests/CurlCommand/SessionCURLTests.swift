import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDiagnostics

/// The curl command line of the request that a session would send.
@Suite(.timeLimit(.minutes(3)))
struct SessionCURLTests {
    private static func session(_ change: (inout SessionConfiguration) -> Void) -> Session {
        var configuration = SessionConfiguration()
        configuration.userAgent = nil
        configuration.acceptLanguage = nil
        configuration.timeouts = Timeouts(connect: nil, responseHead: nil, idle: nil, total: nil)
        configuration.decodesContent = false
        change(&configuration)
        return Session(configuration: configuration, transport: MockTransport { _ in .text("") })
    }

    private static func arguments(
        _ request: Request = Request("http://localhost/"), _ change: (inout SessionConfiguration) -> Void
    ) async throws -> [String] {
        await Shell.curl(called: try session(change).cURLDescription(of: request)).arguments
    }

    /// The described fields are those that the session sends.
    @Test func theFieldsAreThoseThatAreSent() async throws {
        let change: @Sendable (inout SessionConfiguration) -> Void = {
            $0.userAgent = "tool/1"
            $0.acceptLanguage = "de-AT, de;q=0.9"
            $0.defaultHeaders = [.accept: "a/b", .from: "ann"]
        }
        let request = Request("http://localhost/", headers: [.accept: "text/html"])
        let shown = try await Self.arguments(request, change)
        let sent = try Self.session(change).request(request).request.headers
        #expect(sent.count == 4 && sent[.acceptLanguage] == "de-AT, de;q=0.9")
        let fields = sent.flatMap { ["--header", "\($0.name.rawName): \($0.value)"] }
        #expect(shown == fields + ["http://localhost/"])
    }

    @Test(arguments: [nil, "fr"] as [String?])
    func theLanguageIsTheSessionsUnlessTheRequestHasOne(_ own: String?) async throws {
        var request = Request("http://localhost/")
        request.headers[.acceptLanguage] = own
        let arguments = try await Self.arguments(request) { $0.acceptLanguage = "de" }
        #expect(arguments == ["--header", "Accept-Language: \(own ?? "de")", "http://localhost/"])
    }

    @Test func theURLIsTheOneThatIsRequested() async throws {
        let arguments = try await Self.arguments(Request("users?page=2")) {
            $0.baseURL = "http://localhost/v2/"
            $0.defaultQueryItems = [URLQueryItem(name: "lang", value: "de")]
        }
        #expect(arguments == ["http://localhost/v2/users?page=2&lang=de"])
    }

    @Test func aBaseURLThatIsNoneIsAnErrorHereToo() {
        let session = Self.session { $0.baseURL = "v2" }
        #expect { try session.cURLDescription(of: "users") } throws: { ($0 as? TrellisError)?.kind == .invalidURL }
    }

    @Test(arguments: [
        ("http://p.example:3128", Proxy.Authentication.basic, "", ""),
        (
            "http://ann:s%27t@p.example", .basic, " --proxy-user REDACTED:REDACTED", " --proxy-user 'ann:s'\\''t'"
        ),
        (
            "http://ann:s@p.example", .digest, " --proxy-user REDACTED:REDACTED --proxy-digest --proxytunnel",
            " --proxy-user ann:s --proxy-digest --proxytunnel"
        ),
    ])
    func theProxyIsShownWithoutItsCredentials(
        _ url: String, _ authentication: Proxy.Authentication, _ redacted: String, _ revealed: String
    ) throws {
        let proxy = try Proxy(url, authentication: authentication)
        let session = Self.session { $0.proxy = .always(proxy) }
        let start = "curl --proxy \(proxy.url)", end = " http://localhost/"
        #expect(try session.cURLDescription(of: "http://localhost/") == start + redacted + end)
        let options = CURLDescriptionOptions(revealingSecrets: true)
        #expect(try session.cURLDescription(of: "http://localhost/", options) == start + revealed + end)
    }

    @Test func theBandwidthIsTheRequestsAndTheSessions() async throws {
        var request = Request("http://localhost/")
        request.bandwidth.download = BandwidthLimit(bytesPerSecond: 900)
        let arguments = try await Self.arguments(request) {
            $0.bandwidth.download = BandwidthLimit(bytesPerSecond: 800)
            $0.bandwidth.upload = BandwidthLimit(bytesPerSecond: 10)
        }
        #expect(arguments == ["--limit-rate", "800", "http://localhost/"])
    }

    @Test func aSocketGoesPastTheProxy() throws {
        let proxy = try Proxy("http://p.example:3128")
        let route = try Route.unixSocket("/run/x")
        let session = Self.session { ($0.proxy, $0.route) = (.always(proxy), route) }
        #expect(try session.cURLDescription(of: "http://localhost/") == "curl --unix-socket /run/x http://localhost/")
    }

    @Test func aDefaultFieldWhoseNameIsInvalidIsNotShown() throws {
        let session = Self.session { $0.defaultHeaders["X Key"] = "1" }
        #expect(try !session.cURLDescription(of: "http://localhost/").contains("invalid-name"))
    }
}
