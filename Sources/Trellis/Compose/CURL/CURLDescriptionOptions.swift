public import HTTPTypes

/// What ``Request/cURLDescription(_:)`` shows beside the request itself.
public struct CURLDescriptionOptions: Sendable {
    /// Secrets are shown. Otherwise each is `REDACTED`: user information in the URL, query and form items and fields whose
    /// names say that they are secret (`Authorization`, `Cookie`, `password`, `api_key` and the like). Secrets inside other
    /// bodies, such as JSON, are not recognised.
    public var revealsSecrets = false
    /// One option a line.
    public var isMultiline = false
    /// Fields that are sent unless the request has some of the same name: those of its session.
    public var defaultHeaderFields: HTTPFields = [:]
    /// Limits where the request names none of its own; `nil`: none are shown, unless the request names some.
    public var timeouts: Timeouts?
    /// The versions for a request that says nothing of them.
    public var httpVersion = HTTPVersionPolicy.automatic
    /// Whether compressed responses are asked for where the request says nothing of it.
    public var decodesContent = false
    /// Limits on the speed of bodies besides the request's own: those of its session.
    public var bandwidth = BandwidthLimits()
    /// Bodies in memory that are larger are not shown, but named in a remark; of a form, the parts in memory count together.
    public var maximumBodySize = ByteLimit.unlimited
    /// More of curl's options, such as `["--unix-socket", "/run/api.sock"]`; they are quoted.
    public var furtherArguments: [String] = []
    /// What the command cannot say, such as `"the digest of the file is not checked"`: more comments behind it.
    public var furtherRemarks: [String] = []

    /// The defaults: the request alone, its secrets left out, in one line.
    public init() {}

    /// The defaults, with one or the other changed.
    public init(revealingSecrets: Bool, isMultiline: Bool = false) {
        revealsSecrets = revealingSecrets
        self.isMultiline = isMultiline
    }
}
