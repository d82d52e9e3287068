/// The way in which a session authenticates its requests: the value of ``SessionConfiguration/authentication``.
///
/// ```swift
/// configuration.authentication = try .bearer(token, origin: "https://api.example.com")
/// configuration.authentication = try .password("ada", password, origin: "https://files.example.com")   // Digest, or else Basic
/// configuration.authentication = .netrc(try await .load())
/// configuration.authentication = .interceptor(AuthenticationInterceptor(authenticator: OAuth(), credential: tokens))
/// ```
///
/// A way that names an origin sends its credential to that scheme, host and port, and nowhere else. A request with an `Authorization`
/// field or with a name and password in its URL keeps its own credentials.
public struct Authentication: Sendable, RedactedDescription {
    /// The step that authenticates: an adapter, an interceptor or a network step.
    let step: any AuthenticationStep

    private init(_ step: any AuthenticationStep) { self.step = step }

    /// Returns the way that a step authenticates; `nil` if it does not.
    init?(of step: Any) {
        guard let step = ((step as? AttachedInterceptor)?.interceptor ?? step) as? any AuthenticationStep else {
            return nil
        }
        self.step = step
    }

    /// Sends a name and a password with each request to an origin (RFC 7617): a ``BasicAuthentication``.
    ///
    /// - Parameters:
    ///   - username: The name of the user.
    ///   - password: The password.
    ///   - origin: A URL; its scheme, host and port count.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` if the URL has no origin.
    public static func basic(
        _ username: String, _ password: String, origin: some URLConvertible
    ) throws -> Authentication {
        Authentication(try BasicAuthentication(username: username, password: password, origin: origin))
    }

    /// Sends a token with each request to an origin (RFC 6750): a ``BearerAuthentication``.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` if the URL has no origin.
    public static func bearer(_ token: String, origin: some URLConvertible) throws -> Authentication {
        Authentication(try BearerAuthentication(token: token, origin: origin))
    }

    /// Answers the Digest challenges of an origin (RFC 7616): a ``DigestAuthentication``, which never sends the password.
    ///
    /// - Parameters:
    ///   - username: The name of the user.
    ///   - password: The password.
    ///   - origin: A URL; its scheme, host and port count.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` if the URL has no origin.
    public static func digest(
        _ username: String, _ password: String, origin: some URLConvertible
    ) throws -> Authentication {
        Authentication(try DigestAuthentication(username: username, password: password, origin: origin))
    }

    /// Answers the challenges of an origin, by Digest or else by Basic: a ``PasswordAuthentication``.
    ///
    /// - Parameters:
    ///   - username: The name of the user.
    ///   - password: The password.
    ///   - origin: A URL; its scheme, host and port count.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` if the URL has no origin.
    public static func password(
        _ username: String, _ password: String, origin: some URLConvertible
    ) throws -> Authentication {
        Authentication(try PasswordAuthentication(username: username, password: password, origin: origin))
    }

    /// Sends the names and passwords of a `.netrc` file to its machines.
    public static func netrc(_ netrc: Netrc) -> Authentication { Authentication(netrc) }

    /// Sends each origin its credential.
    public static func origins(_ credentials: OriginCredentials) -> Authentication { Authentication(credentials) }

    /// Sends a credential that is renewed, such as an OAuth 2.0 token.
    public static func interceptor<A>(_ interceptor: AuthenticationInterceptor<A>) -> Authentication {
        Authentication(interceptor)
    }
}

/// A step that authenticates requests.
protocol AuthenticationStep: Sendable {}

extension BasicAuthentication: AuthenticationStep {}
extension BearerAuthentication: AuthenticationStep {}
extension OriginCredentials: AuthenticationStep {}
extension Netrc: AuthenticationStep {}
extension DigestAuthentication: AuthenticationStep {}
extension PasswordAuthentication: AuthenticationStep {}
extension AuthenticationInterceptor: AuthenticationStep {}

extension Steps {
    /// The first way in which the steps authenticate; `nil` if there is none.
    var authentication: Authentication? {
        for step in adapters { if let found = Authentication(of: step) { return found } }
        for step in retriers { if let found = Authentication(of: step) { return found } }
        for step in network { if let found = Authentication(of: step) { return found } }
        return nil
    }

    /// Removes all steps that authenticate, and adds the step of another way in their place: at the end of its list.
    mutating func replaceAuthentications(with new: Authentication?) {
        adapters.removeAll { Authentication(of: $0) != nil }
        retriers.removeAll { Authentication(of: $0) != nil }
        network.removeAll { Authentication(of: $0) != nil }
        switch new?.step {
        case let step as any RequestInterceptor: intercept(with: step)
        case let step as any RequestAdapter: adapters.append(step)
        case let step as any RequestStep: network.append(step)
        default: break
        }
    }
}
