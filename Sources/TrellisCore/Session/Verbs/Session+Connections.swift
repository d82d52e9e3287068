import CurlEngine

/// Connections that are made before the requests that use them.
extension Session {
    /// Opens connections to the server of a request, which is not sent: later requests wait neither for TCP nor for TLS.
    ///
    /// ```swift
    /// try await session.connect(to: "https://api.example.com", count: 4)
    /// ```
    ///
    /// Opens as many connections as are missing for `count`, where those in use count, and returns when all of them are idle. An idle
    /// connection is closed after ``ConnectionLimits/idleLifetime``; ``SessionConfiguration/keptConnections`` keeps some open. Proxies, names,
    /// rules of TLS and limits of time apply as to the request. No step runs, and no event monitor is told. A transport that makes no
    /// connections, such as a mock, is not asked.
    ///
    /// Connections that libcurl itself speaks HTTP on cannot be opened in advance (``TrellisError/Kind/unsupported``): those for HTTP/2 and
    /// HTTP/3, and those through SOCKS or a tunnel.
    ///
    /// - Parameters:
    ///   - request: The request, or the URL of the origin, whose path does not matter.
    ///   - count: The number of connections, 1 unless given; at most ``ConnectionLimits/perOrigin`` and ``ConnectionLimits/total``.
    /// - Throws: ``TrellisError`` of the first connection that fails, while the others stay; `CancellationError` in a cancelled task.
    public func connect(to request: some RequestConvertible, count: Int = 1) async throws {
        let limits = configuration.limits.usable
        let count = min(count, limits.perOrigin, limits.total)
        guard count > 0, preparation.makesConnections else { return }
        let request = try request.asRequest().connecting(upTo: count)
        // The number counts on one engine.
        let engine = engines.engine(for: preparation.queue(of: request))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask { try await self.connect(request, on: engine) }
            }
            try await group.waitForAll()
        }
    }

    private func connect(_ request: Request, on engine: SessionEngine) async throws {
        let call = Call(
            request, delivery: .memory, start: clock.now(),
            limit: preparation.limits(of: request, delivery: .memory).total, engine: engine.executor, clock: clock,
            sender: self)
        _ = try await RequestActor(call, session: self, engine: engine, steps: AttachedSteps(Steps())).run()
    }
}

extension Request {
    /// Returns a request that is not sent: up to a number of connections, one is made.
    fileprivate func connecting(upTo count: Int) -> Request {
        var request = self
        (request.method, request.body) = (.get, nil)
        request.changeExtras { $0.connectionCount = count }
        return request
    }
}
