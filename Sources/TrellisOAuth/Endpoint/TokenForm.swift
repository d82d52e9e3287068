import FoundationEssentials
import TrellisCore

/// The form of a request to an endpoint, with the secrets in it.
struct TokenForm: Sendable, RedactedDescription {
    private(set) var items: [(name: String, value: String)] = []
    /// The values that an error must not repeat.
    private(set) var secrets: [String] = []

    init(grantType: String? = nil) {
        if let grantType { add("grant_type", grantType) }
    }

    mutating func add(_ name: String, _ value: String?, isSecret: Bool = false) {
        guard let value else { return }
        items.append((name: name, value: value))
        if isSecret { secrets.append(value) }
    }

    /// The text of the form, percent-encoded.
    var text: String { TokenForm.text(items) }

    /// Returns items as the text of a form or of a query. A space is `%20`, which forms and queries know both.
    static func text(_ items: [(name: String, value: String)]) -> String {
        items.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
    }

    /// Adds the proof of the client that has its place in the form (RFC 6749, section 2.3.1; RFC 7523, section 2.2). A client that proves
    /// itself in the `Authorization` field does not repeat its identifier.
    mutating func add(_ client: OAuthClient, for endpoint: String) async throws {
        switch client.authentication {
        case .none: add("client_id", client.id)
        case .secretBasic: break
        case .secretPost(let secret):
            add("client_id", client.id)
            add("client_secret", secret, isSecret: true)
        case .assertion(let assertion):
            add("client_id", client.id)
            add("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            add("client_assertion", try await assertion.text(for: endpoint), isSecret: true)
        }
    }
}
