#if Observability
import TrellisCore

/// A request on the wire, with the facts that its span, its metrics and its line in the log have in common.
struct ObservedRequest: Sendable {
    let request: Request
    /// The properties that the request has in common with others.
    let profile: RequestProfile
    /// The number of requests that the call has sent before this one.
    let resendCount: Int
    /// The number of attempts before the one of the request.
    let retryCount: Int
    /// The number of redirects that led to the request.
    let redirectCount: Int
    let callID: UInt64

    init(_ request: Request, _ context: CallContext, resendCount: Int, profiles: RequestProfiles) {
        self.request = request
        self.resendCount = resendCount
        redirectCount = context.redirects.count
        profile = profiles.profile(of: request, template: redirectCount == 0 ? request.urlTemplate : nil)
        retryCount = context.attempt - 1
        callID = context.callID
    }

    /// The method if it is known, or else `_OTHER`.
    var method: String { profile.method }
    /// The template of the URL; `nil` if there is none, or a redirect has led to another URL.
    var template: String? { profile.template }

    /// The URL without its secrets. User information is `REDACTED:REDACTED`, as the conventions want it.
    var redactedURL: String { Self.redacted(request.url) }

    static func redacted(_ url: String) -> String {
        guard URLRedaction.mayHoldSecret(url) else { return url }
        let redacted = URLRedaction.redact(url)
        guard URLRedaction.hasUserInformation(url), let colon = redacted.utf8.firstIndex(of: UInt8(ascii: ":")),
            redacted.utf8[colon...].starts(with: "://".utf8)
        else { return redacted }
        let start = redacted.utf8.index(colon, offsetBy: 3)
        return "\(redacted[..<start])REDACTED:REDACTED@\(redacted[start...])"
    }

    /// Returns a series of the request's metrics.
    func series(_ kind: Series.Kind) -> Series { profile.series(kind) }
}
#endif
