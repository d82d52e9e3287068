import CurlEngine

/// A retrier that waits for the network to return if the network is missing, and then sends the request again.
///
/// The retrier handles requests that found no name or no way to their host while the machine has no default route: nothing was
/// sent then, and so any method may be sent again. A name that does not exist, or a server that refuses the connection, is not
/// handled while a network is available, and neither is the machine itself (`localhost`). The network is available unless
/// ``NetworkReachability`` has the status ``NetworkReachability/Status/notReachable``.
///
/// Put the retrier before a ``RetryPolicy``: its wait is not counted as a backoff, but the call's deadline bounds the wait.
public struct OfflineRetrier: RequestInterceptor {
    private let waitForNetwork: @Sendable () async -> Bool

    /// Creates a retrier that asks the system.
    ///
    /// - Parameter maximumWait: the longest time to wait; 5 s unless given.
    public init(maximumWait: Duration = .seconds(5)) {
        self.init(maximumWait: maximumWait, .shared)
    }

    /// Creates a retrier that waits for another reachability, for tests.
    package init(maximumWait: Duration, _ reachability: NetworkReachability) {
        let wait = NetworkWait(limit: maximumWait, reachability: reachability)
        self.init { await wait.untilThereIsOneAgain() }
    }

    /// Creates a retrier that asks another source, such as a service of the system that knows about its networks.
    ///
    /// - Parameter waitForNetwork: waits for the network, without a limit on time. Returns whether the network was away and is
    ///   back: `false` at once if the network never was away, and later if it stays away.
    public init(waitingForNetwork waitForNetwork: @escaping @Sendable () async -> Bool) {
        self.waitForNetwork = waitForNetwork
    }

    /// Returns ``RetryResult/retry`` once the network is back, and ``RetryResult/doNotRetry`` otherwise.
    public func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
        guard Self.mayBeOffline(after: attempt.error, to: attempt.request.url), await waitForNetwork() else {
            return .doNotRetry
        }
        return .retry
    }

    /// Returns whether a missing network may have caused the failure of an attempt to send a request to a URL.
    package static func mayBeOffline(after error: (any Error)?, to url: String) -> Bool {
        switch (error as? TrellisError)?.reason {
        case .connectionFailed: !isThisMachine(url)
        case .proxyFailed(.nameResolution(let proxy, _)), .proxyFailed(.unreachable(let proxy, _)):
            // The name of a proxy is its host and port, or the path of its socket.
            !proxy.hasBytePrefix("/") && !isThisMachine("http://\(proxy)/")
        default: false
        }
    }

    /// Returns whether the host of a URL is this machine.
    private static func isThisMachine(_ url: String) -> Bool {
        (try? WireURL(parsing: url)).map { URLOrigin($0).isLoopback } ?? false
    }
}

extension OfflineRetrier: PartialInterceptor {}
