public import TrellisCore

/// The credentials of an account at AWS, or at a server with its signatures.
public struct AWSCredentials: RedactedDescription, Sendable, Hashable {
    /// The public name of the key.
    public var accessKeyID: String
    /// The secret of the key, which is never sent.
    public var secretAccessKey: String
    /// The token of a session, if the credentials are temporary. It is sent and signed.
    public var sessionToken: String?

    /// Creates credentials.
    public init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {
        (self.accessKeyID, self.secretAccessKey) = (accessKeyID, secretAccessKey)
        self.sessionToken = sessionToken
    }
}
