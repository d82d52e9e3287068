import TrellisCore

/// The reason why there is no token. A refusal by the authorization server is an ``OAuthRefusal``, and a request that failed is a
/// ``/Trellis/TrellisError``.
public enum OAuthError: Error, Hashable, Sendable {
    /// The URL of the API has no origin: it is no absolute http or https URL.
    case missingOrigin(url: String)
    /// An endpoint is neither an `https` URL nor one on this machine (RFC 6749, sections 3.1 and 3.2).
    case insecureEndpoint(url: String)
    /// The server has no endpoint of this kind, such as `device_authorization_endpoint`.
    case missingEndpoint(name: String)
    /// The endpoint responded with a status and without an error that OAuth defines. A redirect is such a status: it is not followed.
    case unacceptableStatus(Int)
    /// The endpoint's response is no answer that OAuth defines.
    case malformedResponse(reason: String)
    /// The token is of another type than `Bearer` (RFC 6749, section 7.1).
    case unacceptableTokenType(String)
    /// The metadata is about another server or resource than the one that was asked for (RFC 8414, section 3.3; RFC 9728, section 3.3).
    case foreignMetadata(asked: String, found: String)
    /// There is no refresh token, and the grant has no other way to a token.
    case missingRefreshToken
    /// Nobody has signed in before the time was over.
    case signInTimedOut
    /// The file of an assertion or a token cannot be used.
    case unusableFile(path: String, reason: String)
    /// The function of an assertion returned text with control characters, or none.
    case malformedAssertion
    /// No port of this machine could be opened for the browser's answer.
    case noListener(reason: String)
}

extension OAuthError: CustomStringConvertible {
    /// A description of the error in one sentence.
    public var description: String {
        switch self {
        case .missingOrigin(let url): "a token needs the origin of an absolute http or https URL, and not \(url)"
        case .insecureEndpoint(let url):
            "the endpoint \(url) is not an https URL, and the client would send its secrets in the clear"
        case .missingEndpoint(let name): "the authorization server has no \(name)"
        case .unacceptableStatus(let status): "the authorization server responded with the status \(status)"
        case .malformedResponse(let reason): "the response of the authorization server is malformed: \(reason)"
        case .unacceptableTokenType(let type): "the token is of the type \(type), and not a bearer token"
        case .foreignMetadata(let asked, let found): "the metadata of \(asked) is about \(found)"
        case .missingRefreshToken: "there is no refresh token to get an access token with"
        case .signInTimedOut: "nobody has signed in in time"
        case .unusableFile(let path, let reason): "the file \(path) cannot be used: \(reason)"
        case .malformedAssertion: "the assertion is empty or has control characters"
        case .noListener(let reason): "no port can be opened for the answer of the browser: \(reason)"
        }
    }
}

/// The answer of an authorization server that refuses a request (RFC 6749, sections 4.1.2.1 and 5.2; RFC 8628, section 3.5).
///
/// The texts are the server's: shortened, with control characters escaped, and with `REDACTED` for the secrets that the request had.
public struct OAuthRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The code, such as `invalid_grant`.
    public let code: String
    /// The server's explanation, if any (`error_description`).
    public let explanation: String?
    /// The URL of a page about the error, if any (`error_uri`).
    public let page: String?

    /// Creates a refusal.
    public init(_ code: String, explanation: String? = nil, page: String? = nil) {
        self.code = code
        self.explanation = explanation
        self.page = page
    }

    /// A description of the error in one sentence.
    public var description: String {
        var text = "the authorization server refused the request: \(code)"
        if let explanation { text += " (\(explanation))" }
        if let page { text += ", see \(page)" }
        return text
    }
}
