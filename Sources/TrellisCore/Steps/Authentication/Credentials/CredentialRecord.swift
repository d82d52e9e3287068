/// The record of a call about one credential. A call keeps its own records, so that the ``CredentialStore`` remembers no calls.
struct CredentialRecord: Sendable {
    /// Whether the authenticator added the credential to the call's request: a request that the authenticator left
    /// alone cannot be refused because of the credential.
    var isAdded = false
    /// The version of the credential with which the call was sent again after its last refusal; `nil` if it was not sent again.
    var renewal: Int?
    /// The number of times that the call was sent again with another version of the credential, since the first attempt.
    var renewalCount = 0
    /// The number of the last refresh that had begun when the call was authenticated: the call was sent before any later refresh.
    var lastRefresh = 0
    /// The failed refresh with which the call failed before its request was sent; `nil` if there is none.
    var failure: Failure?

    /// A failed refresh, which concerns one version of the credential: another version may be good.
    struct Failure: Sendable {
        let error: any Error
        let version: Int
    }
}
