package import CurlEngine
public import Trellis

extension TestClock {
    /// The clock as a session's engine sees it.
    package final class EngineSide: EngineClock {
        private let clock: TestClock

        fileprivate init(_ clock: TestClock) { self.clock = clock }

        /// Returns the present instant. The engine's time line begins a while before the clock's, so that no instant is zero.
        package func now() -> EngineInstant {
            EngineInstant(nanoseconds: 1_000_000_000).advanced(by: clock.now.elapsed)
        }

        /// Returns zero for a deadline that has passed. Any other deadline has no sleep (`nil`), because the engine waits until the
        /// test advances the clock.
        package func sleep(until deadline: EngineInstant, from now: EngineInstant) -> UInt64? {
            deadline <= now ? 0 : nil
        }

        /// Calls `wake` after each advance of the clock.
        package func onAdvance(_ wake: @escaping @Sendable () -> Void) { clock.onAdvance(wake) }
    }

    /// The clock as a session's engine sees it.
    package var engineSide: EngineSide { EngineSide(self) }
}

extension Session {
    /// Creates a session whose limits on time follow a clock that a test moves by hand.
    ///
    /// - Parameters:
    ///   - configuration: The session's configuration.
    ///   - transport: The transport that carries the session's requests, such as a ``ScriptedTransport`` or a ``MockTransport``.
    ///   - clock: The clock.
    public convenience init(
        configuration: SessionConfiguration = SessionConfiguration(), transport: any Transport, clock: TestClock
    ) {
        self.init(configuration: configuration, transport: transport, clock: clock.engineSide)
    }

    /// Creates a session that uses libcurl, and whose limits on time follow a clock that a test moves by hand, for tests with a server on a
    /// socket, such as a ``LoopbackServer``:
    ///
    /// ```swift
    /// let clock = TestClock(), asked = LoopbackServer.Gate(), end = LoopbackServer.Gate()
    /// let server = try LoopbackServer { connection in
    ///     try connection.readRequest()
    ///     asked.open()
    ///     try connection.wait(for: end)
    /// }
    /// let session = Session(configuration: configuration, clock: clock)
    /// async let answer = session.data(server.url("/"))
    /// try await asked.opened()
    /// clock.advance(by: .seconds(3600))
    /// ```
    ///
    /// All limits of Trellis follow the clock. The system's time remains that of libcurl's own timers, such as the pauses between lookups
    /// and between attempts to connect to the addresses of a name, and that of the times that libcurl measures (`Metrics`).
    ///
    /// - Parameters:
    ///   - configuration: The session's configuration.
    ///   - clock: The clock.
    public convenience init(configuration: SessionConfiguration = SessionConfiguration(), clock: TestClock) {
        self.init(configuration: configuration, transport: nil, clock: clock.engineSide)
    }

    /// Waits until the session has handled everything that had reached it before the call: events of its transport, calls of its
    /// handles, and the time limits that were due.
    public func settle() async {
        guard let engine = executor as? EngineExecutor else { return }
        // Submitted calls run before a turn of the loop, timers in the turn: a second call is sure to have a complete turn before
        // it. The others are for work that a turn puts off to a call of its own.
        for _ in 0..<4 {
            await withContinuation { continuation in engine.submit { continuation.resume() } }
        }
    }
}
