private import CCurl

/// The limit on a transfer's requests for a tunnel through its proxy.
extension Transfer {
    /// The number of requests for a tunnel: one without a proof of the credentials, one with it, and one with a newer nonce, each of which
    /// may be repeated on another connection.
    private static let tunnelLimit = 6

    /// Counts a request for a tunnel, and ends the transfer if there were too many.
    func didAskForTunnel() {
        tunnelRequests += 1
        guard tunnelRequests >= Self.tunnelLimit, failure == nil, let proxy = options.route.proxy else { return }
        failure = EngineFailure(
            kind: .proxy(name: proxy.name, .refused(status: 407, hasCredentials: true)), message: "")
        // No callback can end a transfer that has no response, but a connection that is over does.
        if let socket = easy?.findSocket(), socket >= 0 { ccurl_socket_shut_down(socket) }
    }
}
