/// Waits for the network to come back, where it is the network that is missing, and sends the request again.
///
/// It has an opinion about requests that found no name or no way to their host, while the machine has no default route: nothing
/// was sent then, and so any method may be sent again. A name that does not exist, or a server that refuses, is none of its
/// business while there is a network, and neither is the machine itself (`localhost`).
///
/// Put it before a ``RetryPolicy``: its wait is not counted as a backoff, but the call's deadline bounds it.
public struct OfflineRetrier: RequestInterceptor {
    private let waitForNetwork: @Sendable () async -> Bool

    /// A retrier that asks the system.
    ///
    /// - Parameter maximumWait: how long it waits; 5 s unless given.
    public init(maximumWait: Duration = .seconds(5)) {
        self.init { await NetworkWait(limit: maximumWait).untilThereIsOneAgain() }
    }

    /// A retrier that asks something else, such as a service of the system that knows about its networks.
    ///
    /// - Parameter waitForNetwork: waits for the network, for as long as it likes. Returns whether it was away and is back:
    ///   `false` at once where it never was away, and later where it stays away.
    public init(waitingForNetwork waitForNetwork: @escaping @Sendable () async -> Bool) {
        self.waitForNetwork = waitForNetwork
    }

    /// ``RetryResult/retry`` once the network is back, or no opinion.
    public func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
        guard Self.mayBeOffline(attempt), await waitForNetwork() else { return .doNotRetry }
        return .retry
    }

    static func mayBeOffline(_ attempt: FailedAttempt) -> Bool {
        switch (attempt.error as? TrellisError)?.reason {
        case .connectionFailed: !isThisMachine(Request.limitedHost(of: attempt.request.url))
        case .proxyFailed(.nameResolution(let proxy, _)), .proxyFailed(.unreachable(let proxy, _)):
            !isThisMachine(proxy)
        default: false
        }
    }

    /// RFC 6761, section 6.3; RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3.
    private static func isThisMachine(_ host: String) -> Bool {
        if host.hasPrefix("[") { return host.hasPrefix("[::1]") }
        let name = host.prefix { $0 != ":" }
        if name == "localhost" || name.hasSuffix(".localhost") { return true }
        return name.hasPrefix("127.") && name.allSatisfy { $0.isNumber || $0 == "." }
    }
}

extension OfflineRetrier: OneSidedInterceptor {}
