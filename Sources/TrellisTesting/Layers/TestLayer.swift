public import TrellisCore

/// A part of a test besides its transport: faults, a server on a socket, a proxy in front of it, a clock, or the settings of its session.
///
/// The trait `.trellis(…)` of `TrellisTestTraits` takes layers, alone or after a ``TransportProvider``, and makes new ones for each case
/// of a test:
///
/// ```swift
/// @Test(.trellis(.mock { _ in .text("late") }, .clock, .faults([.always(.stall(after: 2))])))
/// @Test(.trellis(.https { _ in .text("secret") }, .proxy([.byteLimit(90, of: .downstream)])))
/// ```
///
/// The order of the layers of one trait does not matter. The test reaches its parts by ``Trellis/Session/current``,
/// ``TestClock/current``, ``LoopbackServer/current``, ``FaultProxy/current`` and ``FaultTransport/current``.
public struct TestLayer: Sendable {
    /// A change of the configuration of the test's session.
    public typealias SessionChange = @Sendable (_ configuration: inout SessionConfiguration) -> Void

    /// A closure that starts a server with faults and a clock.
    typealias ServerMaker = @Sendable (FaultPlan, TestClock?) throws -> LoopbackServer

    enum Kind: Sendable {
        case clock
        case session(SessionChange)
        case faults(FaultPlan, allowsUnused: Bool)
        case server(ServerMaker, SessionChange)
        case proxy([Toxic], seed: UInt64)
    }

    let kind: Kind

    // MARK: Time and faults

    /// A ``TestClock``: for the time limits of ``Trellis/Session/current``, unless the session uses the network, and for the delays of
    /// faults, of a server and of a proxy.
    public static var clock: TestLayer { TestLayer(kind: .clock) }

    /// Returns a layer of faults: around the transport of the test or, if the trait starts a server, by that server.
    ///
    /// The transport comes from the same trait or, if it has none, from the traits before it. Its expectations, such as the routes of a
    /// ``MockRouter``, stay the test's.
    ///
    /// - Parameters:
    ///   - plan: The faults.
    ///   - allowsUnused: Whether it is no problem that no fault of the plan has begun. The default is `false`.
    public static func faults(_ plan: FaultPlan, allowsUnused: Bool = false) -> TestLayer {
        TestLayer(kind: .faults(plan, allowsUnused: allowsUnused))
    }

    // MARK: Servers on sockets

    /// Returns a layer with a server of HTTP/1.1 on 127.0.0.1 (``LoopbackServer/http(on:storesBodies:faults:clock:_:)``), which takes the
    /// place of the transport of outer traits. Errors that the handler throws are problems of the test.
    public static func http(
        _ handler: @escaping @Sendable (LoopbackServer.ReceivedRequest) throws -> LoopbackServer.Response
    ) -> TestLayer {
        TestLayer(
            kind: .server({ faults, clock in try LoopbackServer.http(faults: faults, clock: clock, handler) }, { _ in })
        )
    }

    /// Returns a layer with a server as ``http(_:)`` does, over TLS with a certificate of a new authority.
    /// ``Trellis/Session/current`` trusts that authority alone.
    ///
    /// - Parameters:
    ///   - names: The names of the certificate, besides `localhost`, `127.0.0.1` and `::1`.
    ///   - requiresClientCertificate: Whether clients need a certificate of the authority (``TestAuthority/clientIdentity(_:)``), which
    ///     ``session(_:)`` can give to the session of the test. The default is `false`.
    ///   - handler: Returns the response to a request.
    public static func https(
        names: [String] = [], requiresClientCertificate: Bool = false,
        _ handler: @escaping @Sendable (LoopbackServer.ReceivedRequest) throws -> LoopbackServer.Response
    ) -> TestLayer {
        let make: ServerMaker = { faults, clock in
            let tls = try LoopbackServer.TLS(names: names, requiresClientCertificate: requiresClientCertificate)
            return try LoopbackServer.https(tls: tls, faults: faults, clock: clock, handler)
        }
        return TestLayer(kind: .server(make, { _ in }))
    }

    /// Returns a layer with a server of HTTP/2 (``LoopbackServer/http2(on:faults:clock:response:)``).
    /// ``Trellis/Session/current`` knows that the server speaks HTTP/2.
    ///
    /// - Parameter response: The response to all requests.
    public static func http2(response: LoopbackServer.Response = .text("ok")) -> TestLayer {
        TestLayer(
            kind: .server(
                { faults, clock in try LoopbackServer.http2(faults: faults, clock: clock, response: response) },
                { $0.httpVersion = .http2PriorKnowledge }))
    }

    /// Returns a layer with a ``FaultProxy`` in front of the test's server, from the same trait or a trait before it.
    ///
    /// - Parameters:
    ///   - toxics: The toxics.
    ///   - seed: The seed of the random numbers.
    public static func proxy(_ toxics: [Toxic] = [], seed: UInt64 = 0) -> TestLayer {
        TestLayer(kind: .proxy(toxics, seed: seed))
    }

    // MARK: The session

    /// Returns a layer that changes the configuration of ``Trellis/Session/current``.
    ///
    /// - Parameter change: The change. A later layer sees the changes of earlier ones.
    public static func session(_ change: @escaping SessionChange) -> TestLayer { TestLayer(kind: .session(change)) }
}

/// The error of a trait whose layers do not belong together.
public struct TestLayerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The error in words, with the trait that mends it.
    public let description: String

    init(_ description: String) { self.description = description }
}
