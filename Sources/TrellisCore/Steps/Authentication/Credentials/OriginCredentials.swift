import CurlEngine
import HTTPTypes

/// A set of credentials by origin: each credential is sent to its own scheme, host and port, and nowhere else.
///
/// ```swift
/// var credentials = OriginCredentials()
/// try credentials.set(.bearer(token), for: "https://api.example.com")
/// try credentials.set(.basic(username: "ada", password: password), for: "http://localhost:8080")
/// configuration.authentication = .origins(credentials)
/// ```
///
/// A token or a name with control characters is an error of kind ``TrellisError/Kind/invalidRequest``, and nothing is sent.
///
/// A request with an `Authorization` field or with a name and password in its URL keeps its own credentials. A relative URL is
/// completed with the session's base URL before any adapter sees the request.
///
/// Redirects: an adapter runs before an attempt, and so the credentials belong to the origin of the first hop. A redirect
/// within this origin keeps them. A redirect to another origin drops them, and does not add the other origin's, even if
/// there are any.
public struct OriginCredentials: RequestAdapter, RedactedDescription {
    /// The credential of all origins, for the adapters that are made without one.
    private var everywhere: ReadyCredential?
    private var byOrigin: [String: ReadyCredential] = [:]
    /// The origin and the credential of a set of one, which is found without a hash of the origin; `nil` for every other set.
    private var single: (origin: String, credential: ReadyCredential)?
    private let targets = CredentialTargets()

    /// Creates an empty set.
    public init() {}

    init(everywhere credential: HTTPCredential) { everywhere = ReadyCredential(credential) }

    /// Sets the credential of an origin, or removes it.
    ///
    /// - Parameters:
    ///   - credential: The credential; `nil` for none.
    ///   - origin: A URL; its scheme, host and port count.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` if the URL has no origin; the error of the URL's
    ///   own conversion.
    public mutating func set(_ credential: HTTPCredential?, for origin: some URLConvertible) throws {
        byOrigin[try CredentialTargets.origin(of: origin)] = credential.map(ReadyCredential.init)
        single = byOrigin.count == 1 ? byOrigin.first.map { (origin: $0.key, credential: $0.value) } : nil
    }

    private func credential(for origin: String) -> ReadyCredential? {
        guard let single else { return byOrigin[origin] }
        return single.origin.hasSameBytes(as: origin) ? single.credential : nil
    }

    /// Returns the request with the credential of its origin.
    ///
    /// - Throws: Nothing.
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
        if let single, Self.isOrigin(single.origin, of: request.url) {
            return request.headers.contains(.authorization) ? request : single.credential.added(to: request)
        }
        guard let url = targets.target(of: request), url.user == nil, let credential = credential(for: url.origin)
        else { return request }
        return credential.added(to: request)
    }
}

extension OriginCredentials {
    /// Returns whether a URL is an origin and a path, so that the origin shows without the URL being parsed: an authority ends at the first
    /// slash after its two (RFC 3986, section 3.2), and user information would be before the host.
    private static func isOrigin(_ origin: String, of url: String) -> Bool {
        let (bytes, beginning) = (url.utf8.span, origin.utf8.span)
        return bytes.count > beginning.count && bytes[beginning.count] == UInt8(ascii: "/")
            && bytes.matches(beginning, at: 0)
    }
}

/// A credential with the field that contains it, which is made once. A class, because it is looked up for every request.
private final class ReadyCredential: Sendable {
    private let credential: HTTPCredential
    /// The field, in the array that requests take it from; empty if no field can hold the credential.
    private let fields: [HTTPField]

    init(_ credential: HTTPCredential) {
        self.credential = credential
        let request = credential.added(to: Request("http://localhost/"))
        fields = request.conversionFailure == nil ? Array(request.headers[fields: .authorization].prefix(1)) : []
    }

    /// Returns the request with the credential. A credential that no field can hold makes the request fail when it is sent.
    func added(to request: Request) -> Request {
        fields.isEmpty ? credential.added(to: request) : request.withFields(fields, of: .authorization)
    }
}
