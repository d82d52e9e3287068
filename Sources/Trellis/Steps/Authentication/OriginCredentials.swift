import CurlEngine

/// A set of credentials by origin: each credential is sent to its own scheme, host and port, and nowhere else.
///
/// ```swift
/// var credentials = OriginCredentials()
/// try credentials.set(.bearer(token), for: "https://api.example.com")
/// try credentials.set(.basic(username: "ada", password: password), for: "http://localhost:8080")
/// configuration.steps.adapters.append(credentials)
/// ```
///
/// A credential that no field can hold, because it contains control characters, is an error of kind
/// ``TrellisError/Kind/invalidRequest``, and nothing is sent.
///
/// A request with an `Authorization` field or with a name and password in its URL keeps its own credentials. A relative URL is
/// completed with the session's base URL before any adapter sees the request.
///
/// Redirects: an adapter runs before an attempt, and so the credentials are those of the origin of the first hop. A redirect
/// within this origin keeps them. A redirect to another origin drops them, and does not add those of the other origin, even if
/// there are any.
public struct OriginCredentials: RequestAdapter, RedactedDescription {
    /// The credential of all origins, for the adapters that are made without one.
    private var everywhere: HTTPCredential?
    private var byOrigin: [String: HTTPCredential] = [:]
    private let targets = CredentialTargets()

    /// Creates an empty set.
    public init() {}

    init(everywhere credential: HTTPCredential) { everywhere = credential }

    /// Sets the credential of an origin, or removes it with `nil`.
    ///
    /// - Parameter origin: A URL; its scheme, host and port count.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` if the URL has no origin; the error of the URL's
    ///   own conversion.
    public mutating func set(_ credential: HTTPCredential?, for origin: some URLConvertible) throws {
        byOrigin[try CredentialTargets.origin(of: origin)] = credential
    }

    /// Returns the request with the credential of its origin.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        guard !context.hasOwnCredentials else { return request }
        if let everywhere {
            // The credential is also added to requests whose URL cannot be parsed here.
            return request.hasCredentials ? request : everywhere.added(to: request)
        }
        guard let url = targets.target(of: request), url.user == nil, let credential = byOrigin[url.origin] else {
            return request
        }
        return credential.added(to: request)
    }
}
