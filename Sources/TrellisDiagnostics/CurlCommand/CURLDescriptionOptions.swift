public import HTTPTypes
public import TrellisCore

/// The settings of ``Request/cURLDescription(_:)`` besides the request itself.
public struct CURLDescriptionOptions: Sendable {
    /// Whether secrets are shown; `false` by default. Otherwise user information is left out of URLs, and the values of
    /// query items, form items and fields whose names indicate a secret (`Authorization`, `Cookie`, `password`, `api_key` and the
    /// like) become `REDACTED`, as do fields that no compression table may hold (`indexingStrategy`), and the texts under such names in
    /// a body of JSON, as in the documents of an ``HARRecorder``. The URLs of fields such as `Referer` and `Link` are treated alike.
    /// A body in memory that has a `Content-Encoding` already is named in a remark. Secrets in other bodies, in files and in
    /// ``furtherArguments`` are not recognised.
    public var revealsSecrets = false
    /// Whether each option is on a line of its own; `false` by default.
    public var isMultiline = false
    /// The fields that are sent unless the request has fields of the same name: the default fields of the session.
    /// None by default.
    public var defaultHeaders: HTTPFields = HTTPFields()
    /// The limits on time that apply if the request sets none; `nil`, the default, if limits are shown only for a request that
    /// sets some.
    public var timeouts: Timeouts?
    /// The versions of HTTP for a request that does not set its own; ``HTTPVersionPolicy/automatic`` by default.
    public var httpVersion = HTTPVersionPolicy.automatic
    /// Whether compressed responses are requested if the request does not set its own choice; `false` by default.
    public var decodesContent = false
    /// The limits on the speed of bodies besides the request's own: the limits of the session. None by default.
    public var bandwidth = BandwidthLimits()
    /// The size limit of a body in memory that is shown. A larger body is named in a remark instead; the parts of a form that are
    /// in memory count together. There is no limit by default.
    public var maximumBodySize = ByteLimit.unlimited
    /// Additional curl arguments, such as `["--unix-socket", "/run/api.sock"]`; the arguments are quoted. None
    /// by default.
    public var furtherArguments: [String] = []
    /// Additional comments after the command, for details that the command cannot express, such as
    /// `"the digest of the file is not checked"`. None by default.
    public var furtherRemarks: [String] = []
    /// The route of the session.
    var route = Route()
    /// The options for the resolver of the session.
    var resolver = CURLSettings()
    /// The proxies of the session; `nil` if they are not known.
    var proxy: ProxyConfiguration?
    /// Returns the rules of TLS of the session for a host; `nil` if they are not known.
    var tls: (@Sendable (_ host: String) -> TLSConfiguration)?
    /// Returns whether the session has rules of TLS for this host in particular.
    var hasOwnTLS: (@Sendable (_ host: String) -> Bool)?
    /// The variables from which curl would take its proxy, for this machine too.
    var environment = {
        var environment = ProxyEnvironment()
        environment.includesLoopback = true
        return environment
    }()

    /// Creates the default options: the request alone, without its secrets, on one line.
    public init() {}

    /// Creates options with a choice for secrets and lines, and with defaults for the rest.
    public init(revealingSecrets: Bool, isMultiline: Bool = false) {
        revealsSecrets = revealingSecrets
        self.isMultiline = isMultiline
    }
}
