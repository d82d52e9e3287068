public import TrellisCore

/// The servers that speak a protocol by themselves, and the configuration of a session that reaches them.
extension LoopbackServer {
    /// Creates a server that responds to each request with the value that the handler returns, and keeps connections alive.
    ///
    /// ```swift
    /// let server = try LoopbackServer.http { request in
    ///     guard request["Authorization"] == "Bearer key" else { return .init(401) }
    ///     switch request.path {
    ///     case "/users": return .json(#"[{"name": "Ada"}]"#)
    ///     case "/log": return .init(body: .chunked { body in for line in 1...9 { try body.write("line \(line)\n") } })
    ///     default: return .init(404)
    ///     }
    /// }
    /// ```
    ///
    /// The handler runs on the connection's thread and may block. When it throws, the response is 500 and the error is in
    /// ``errors``. The response to `Expect: 100-continue` is 100; HEAD, 204 and 304 get no body.
    ///
    /// - Parameters:
    ///   - address: The address to listen on.
    ///   - storesBodies: `false` to count the bytes of request bodies without keeping them.
    ///   - faults: The faults that the server plays. Faults of names and of connecting only happen to sessions with
    ///     ``sessionConfiguration(_:)``, and to URLs with the name of a host (``url(_:host:scheme:)``).
    ///   - clock: The clock of the latencies and drips among the faults, which last until the test moves the clock; `nil`, the default, for
    ///     real time. The limits of a session that uses a network count real time.
    ///   - handler: Returns the response to a request.
    /// - Throws: ``SystemError`` when the system refuses; ``UnplayableFault`` for faults of TLS and of HTTP/2.
    public static func http(
        on address: Address = .ipv4, storesBodies: Bool = true, faults: FaultPlan = [], clock: TestClock? = nil,
        _ handler: @escaping @Sendable (ReceivedRequest) throws -> Response
    ) throws -> LoopbackServer {
        try faults.check(hasHTTP2: false)
        return try LoopbackServer(on: address, tls: nil, faults: faults, clock: clock) { connection, schedule in
            try HTTP1Peer(connection, schedule, storesBodies: storesBodies).serve(handler)
        }
    }

    /// Creates a server as ``http(on:storesBodies:faults:clock:_:)`` does, for HTTP/1.1 over TLS.
    ///
    /// ```swift
    /// let server = try LoopbackServer.https { _ in .text("secret") }
    /// let session = Session(configuration: server.sessionConfiguration())
    /// let text = try await session.string(server.url("/"))
    /// ```
    ///
    /// The certificate is for `localhost`, `127.0.0.1`, `::1` and the given names, and is issued by an authority that only a session with
    /// ``sessionConfiguration(_:)`` trusts, or one with its ``TestAuthority/tlsConfiguration``. No TLS session is resumed, so that each
    /// connection has a complete handshake.
    ///
    /// - Parameters:
    ///   - address: The address to listen on.
    ///   - tls: The settings of TLS; `nil`, the default, for a valid certificate of a new authority.
    ///   - storesBodies: `false` to count the bytes of request bodies without keeping them.
    ///   - faults: The faults that the server plays.
    ///   - clock: The clock of the latencies and drips among the faults; `nil`, the default, for real time.
    ///   - handler: Returns the response to a request.
    /// - Throws: ``SystemError`` when the system refuses; ``TLSUnavailable`` if OpenSSL is missing; ``UnplayableFault`` for faults of
    ///   HTTP/2.
    public static func https(
        on address: Address = .ipv4, tls: TLS? = nil, storesBodies: Bool = true, faults: FaultPlan = [],
        clock: TestClock? = nil, _ handler: @escaping @Sendable (ReceivedRequest) throws -> Response
    ) throws -> LoopbackServer {
        try faults.check(hasHTTP2: false)
        return try LoopbackServer(on: address, tls: tls ?? TLS(), faults: faults, clock: clock) {
            try HTTP1Peer($0, $1, storesBodies: storesBodies).serve(handler)
        }
    }

    /// Creates a server of HTTP/2 for tests of its failures, which gives the same response to every request.
    ///
    /// ```swift
    /// let faults: FaultPlan = [.first(1, .http2(.resetStream(.internalError)))]
    /// let server = try LoopbackServer.http2(faults: faults)
    /// var configuration = SessionConfiguration()
    /// configuration.httpVersion = .http2PriorKnowledge
    /// ```
    ///
    /// Clients must know that the server speaks HTTP/2 (RFC 9113, section 3.3). The server reads requests one after the other, without
    /// their fields: rules with predicates are refused, and ``requests`` stays empty. A fault that waits delays all requests of its
    /// connection.
    ///
    /// - Parameters:
    ///   - address: The address to listen on.
    ///   - faults: The faults that the server plays.
    ///   - clock: The clock of the latencies and drips among the faults; `nil`, the default, for real time.
    ///   - response: The response. Its body must be in memory, and have at most 65,535 bytes (the window of RFC 9113, section 6.9.2).
    /// - Throws: ``SystemError`` when the system refuses; ``UnplayableFault`` for faults of TLS and of the framing of HTTP/1.1.
    public static func http2(
        on address: Address = .ipv4, faults: FaultPlan = [], clock: TestClock? = nil, response: Response = .text("ok")
    ) throws -> LoopbackServer {
        try faults.check(hasHTTP2: true)
        return try LoopbackServer(on: address, tls: nil, faults: faults, clock: clock) { connection, schedule in
            try HTTP2Peer(connection, schedule, response: response).serve()
        }
    }

    /// Starts a server of WebSockets (RFC 6455), whose script runs once for each of them.
    ///
    /// ```swift
    /// let server = try LoopbackServer.webSocket { peer in
    ///     while let message = try peer.receive() { try peer.send(message) }
    /// }
    /// ```
    ///
    /// The server accepts every handshake, without a subprotocol unless the script accepts it itself
    /// (``Connection/acceptWebSocket(_:headers:)``), and without compression. A script that returns while the WebSocket is open closes it
    /// with the code 1000.
    ///
    /// - Parameters:
    ///   - address: The address to listen on.
    ///   - script: The script of each WebSocket. Runs on the connection's own thread and may block there.
    /// - Throws: ``SystemError`` when the system refuses.
    public static func webSocket(
        on address: Address = .ipv4, _ script: @escaping @Sendable (WebSocketPeer) throws -> Void
    ) throws -> LoopbackServer {
        try LoopbackServer(on: address) { connection in
            guard let request = try connection.readHead() else { return }
            let peer = try connection.acceptWebSocket(request)
            try script(peer)
            if !peer.hasSentClose { try peer.close() }
        }
    }

    /// Returns a configuration for sessions that reach this server by every name, and trust it.
    ///
    /// The names of URLs such as `url("/", host: "api.example.com")` lead to this server, without DNS; literal addresses and `localhost`
    /// need no lookup. If the server uses TLS, its ``authority`` is the only one that is trusted. The faults of the name and of the
    /// connecting happen in the lookups of such a session. Each lookup counts as a request.
    ///
    /// - Parameter base: The configuration with all other settings.
    public func sessionConfiguration(_ base: SessionConfiguration = SessionConfiguration()) -> SessionConfiguration {
        var configuration = base
        configuration.resolver = LoopbackResolver(address: address == .ipv6 ? "::1" : "127.0.0.1", schedule: schedule)
        if let authority { configuration.tls.authorities = authority.tlsConfiguration.authorities }
        return configuration
    }
}
