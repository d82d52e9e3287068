package import CurlEngine
package import TrellisCore

/// A script for the choice of proxies that is never asked.
package struct AbsentScript: ProxyScript {
    package final class State: ProxyScriptState {
        package func decision(
            for url: WireURL, credentials: [Proxy], access: any ProxyScriptAccess
        ) async throws -> ProxyDecision { throw CancellationError() }

        package func networkDidChange() {}
    }

    package let description = "AbsentScript"

    package func makeState() -> any ProxyScriptState { State() }
}

extension ProxyConfiguration {
    /// The proxies of a script that is never asked.
    package static let absentScript = ProxyConfiguration(.automatic(AbsentScript(), credentials: []))
}
