import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore

/// The description and the mirror of a configuration, which show its settings without their secrets.
struct ConfigurationDescriptionTests {
    private static let secret = "s3cr3t"

    private static func texts(of value: some Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(reflecting: value), dumped]
    }

    private static func configuration() throws -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.baseURL = "https://ada:\(secret)@api.example.com/v2/?token=\(secret)"
        configuration.defaultHeaders = [.authorization: "Bearer \(secret)", .accept: "a/b"]
        let key = try #require(HTTPField.Name("X-API-Key"))
        configuration.defaultHeaders[key] = secret
        configuration.defaultQueryItems = [
            URLQueryItem(name: "api_key", value: secret), URLQueryItem(name: "page", value: "2"),
            URLQueryItem(name: "flag", value: nil),
        ]
        return configuration
    }

    @Test(arguments: [
        "https://api.example.com/v2/?token=REDACTED", "Authorization: Bearer REDACTED", "X-API-Key: REDACTED",
        "Accept: a/b", "api_key=REDACTED", "page=2", "flag", "timeouts", "followsNetworkChanges",
    ])
    func aSettingIsShownWithoutItsSecret(_ part: String) throws {
        for text in Self.texts(of: try Self.configuration()) {
            #expect(text.contains(part))
            #expect(!text.contains(Self.secret))
        }
    }

    @Test func aBaseThatIsNoURLIsNotShown() {
        struct Unmakeable: Error {}
        struct BadURL: URLConvertible { func asURL() throws -> URL { throw Unmakeable() } }
        var configuration = SessionConfiguration()
        #expect("\(configuration)".contains("baseURL: none"))
        configuration.baseURL = BadURL()
        #expect("\(configuration)".contains("baseURL: not a URL"))
    }

    /// The numbers from which the idempotency keys of all calls follow.
    @Test func aRetryPolicyDoesNotShowTheSecretOfItsKeys() {
        for text in Self.texts(of: RetryPolicy()) {
            #expect(text.contains("IdempotencyKeys(REDACTED)"))
            #expect(!text.contains("secret"))
        }
    }
}
