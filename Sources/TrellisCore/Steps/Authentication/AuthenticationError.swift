/// The reason why a request could not be authenticated. An error that an ``Authenticator`` throws is not wrapped in this type:
/// that error reaches the caller unchanged.
public enum AuthenticationError: Error, Hashable, Sendable {
    /// The interceptor has no credential: ``AuthenticationInterceptor/credential`` is `nil`.
    case missingCredential
    /// The refresh was not begun, because as many refreshes as the ``RefreshWindow`` allows have begun already.
    case excessiveRefresh
    /// The refresh took longer than the interceptor allows.
    case refreshTimedOut
    /// The refresh ended with a `CancellationError`, although the request's own task was not cancelled.
    case refreshCancelled
    /// The `.netrc` file has quotes that do not end in their line, or lacks a value.
    case malformedNetrc(line: Int)
    /// The `.netrc` file cannot be read.
    case unreadableNetrc(path: String, reason: String)
}

extension AuthenticationError: CustomStringConvertible {
    /// A description of the error in one sentence.
    public var description: String {
        switch self {
        case .missingCredential: "there is no credential to authenticate the request with"
        case .excessiveRefresh: "the credential was refreshed too often in a short time, so it was not refreshed again"
        case .refreshTimedOut: "refreshing the credential took too long"
        case .refreshCancelled: "refreshing the credential was cancelled"
        case .malformedNetrc(let line): "line \(line) of the netrc file has quotes that do not end, or lacks a value"
        case .unreadableNetrc(let path, let reason): "the netrc file \(path) cannot be read: \(reason)"
        }
    }
}
