/// The properties of requests that a proxy or gateway passes on for another client.
extension Request {
    /// Whether the path and query of ``url`` are sent byte for byte: dot segments stay, and nothing is percent-encoded
    /// (RFC 9110, section 7.7). The default is `false`.
    ///
    /// The URL is then absolute, without a fragment, and its path and query are printable ASCII. Another URL is an error of kind
    /// ``TrellisError/Kind/invalidURL``. An `OPTIONS` request for a URL with neither path nor query has the target `*`, and asks about the
    /// server as a whole (RFC 9112, section 3.2.4). The requests of redirects are sent as usual.
    public var sendsURLUnchanged: Bool {
        get { extras?.extras.sendsURLUnchanged ?? false }
        set { changeExtras { $0.sendsURLUnchanged = newValue } }
    }

    /// Whether the request goes over the wire at most once for each exchange. The default is `false`.
    ///
    /// Otherwise, a request with an idempotent method or an `Idempotency-Key` whose kept connection is closed before the first byte of the
    /// response goes over another connection (RFC 9112, section 9.3.1). A request that is answered with 417 is repeated without its
    /// expectation. A request that was not sent, or that an HTTP/2 server has refused unprocessed, still goes over another connection.
    /// Retriers, hedging and redirects are not affected.
    public var isSentOnce: Bool {
        get { extras?.extras.isSentOnce ?? false }
        set { changeExtras { $0.isSentOnce = newValue } }
    }

    /// Whether the request may be sent twice although its method is not idempotent, because its meaning is known.
    package var isRepeatable: Bool {
        get { extras?.extras.isRepeatable ?? false }
        set { changeExtras { $0.isRepeatable = newValue } }
    }

    /// The receiver of informational heads, an ``InformationalHeads``, if any.
    package var informationalReceiver: (any Sendable)? {
        get { extras?.extras.informationalReceiver }
        set { changeExtras { $0.informationalReceiver = newValue } }
    }
}
