import CurlEngine
import HTTPTypes

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
    private var everywhere: ReadyCredential?
    private var byOrigin: [String: ReadyCredential] = [:]
    private let targets = CredentialTargets()

    /// Creates an empty set.
    public init() {}

    init(everywhere credential: HTTPCredential) { everywhere = ReadyCredential(credential) }

    /// Sets the credential of an origin, or removes it with `nil`.
    ///
    /// - Parameter origin: A URL; its scheme, host and port count.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` if the URL has no origin; the error of the URL's
    ///   own conversion.
    public mutating func set(_ credential: HTTPCredential?, for origin: some URLConvertible) throws {
        byOrigin[try CredentialTargets.origin(of: origin)] = credential.map(ReadyCredential.init)
    }

    /// Returns the request with the credential of its origin.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        adaptAtOnce(request, context: context)
    }
}

extension OriginCredentials: ImmediateAdapter {
    func adaptAtOnce(_ request: Request, context: CallContext) -> Request {
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

/// A credential with the field that contains it, which is made once.
private struct ReadyCredential: Sendable {
    private let credential: HTTPCredential
    /// The field; `nil` if no field can hold the credential.
    private let field: HTTPField?

    init(_ credential: HTTPCredential) {
        self.credential = credential
        let request = credential.added(to: Request("http://localhost/"))
        let value = request.conversionFailure == nil ? request.headers[fields: .authorization].first : nil
        field = value
    }

    /// Returns the request with the credential. A credential that no field can hold makes the request fail when it is sent.
    func added(to request: Request) -> Request {
        field.map { request.withHeader($0) } ?? credential.added(to: request)
    }
}
