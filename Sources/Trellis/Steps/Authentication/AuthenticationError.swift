/// Why a request could not be authenticated. What an ``Authenticator`` throws is not one of these: it reaches the caller
/// unchanged.
public enum AuthenticationError: Error, Hashable, Sendable {
    /// There is no credential: ``AuthenticationInterceptor/credential`` is `nil`.
    case missingCredential
    /// There were as many refreshes as the ``RefreshWindow`` allows, so none was begun.
    case excessiveRefresh
    /// The refresh took longer than the interceptor lets it.
    case refreshTimedOut
    /// The refresh ended as if its task had been cancelled. The request's own was not.
    case refreshCancelled
    /// A `.netrc` file has quotes that do not end in their line.
    case malformedNetrc(line: Int)
    /// A `.netrc` file cannot be read.
    case unreadableNetrc(path: String, why: String)
}

extension AuthenticationError: CustomStringConvertible {
    /// A sentence for people.
    public var description: String {
        switch self {
        case .missingCredential: "there is no credential to authenticate the request with"
        case .excessiveRefresh: "the credential was refreshed too often in a short time, so it was not refreshed again"
        case .refreshTimedOut: "refreshing the credential took too long"
        case .refreshCancelled: "refreshing the credential was cancelled"
        case .malformedNetrc(let line): "line \(line) of the netrc file has quotes that do not end"
        case .unreadableNetrc(let path, let why): "the netrc file \(path) cannot be read: \(why)"
        }
    }
}
