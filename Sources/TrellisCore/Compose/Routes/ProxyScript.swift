package import CurlEngine
package import FoundationEssentials
package import HTTPTypes

/// A script that names the proxies of requests. The core knows none; ``PACScript`` is one.
package protocol ProxyScript: Hashable, Sendable, CustomStringConvertible {
    /// Returns the state of the script in a session that has not asked it yet.
    func makeState() -> any ProxyScriptState
}

/// A script in one session, with what it keeps there.
package protocol ProxyScriptState: AnyObject, Sendable {
    /// Returns the decision about the proxies for a URL.
    ///
    /// - Parameter credentials: The proxies with credentials that are used instead of proxies with the same address.
    func decision(
        for url: WireURL, credentials: [Proxy], access: any ProxyScriptAccess
    ) async throws -> ProxyDecision

    /// Forgets what may depend on the network.
    func networkDidChange()
}

/// The access of a call to scripts that choose proxies, for which a session is necessary.
package protocol ProxyScriptAccess: Sendable {
    /// The present instant on the session's clock.
    var now: EngineInstant { get }

    /// Waits for a duration on the session's clock.
    func wait(for duration: Duration) async throws

    /// Fetches a script, and returns its bytes and the fields of the response.
    func fetch(_ url: String) async throws -> (Data, HTTPFields)
}
