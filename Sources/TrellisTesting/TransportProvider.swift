public import TrellisCore

/// A way to make the transport of a test, for the trait `.trellis(…)` of `TrellisTestTraits` and for
/// ``withTransport(_:_:)-(TransportProvider,_)``. Each case of a test gets its own transport.
///
/// Kinds of transports add static members:
///
/// ```swift
/// extension TransportProvider {
///     static func recorded(_ name: String) -> Self { TransportProvider { try RecordedTransport(name) } }
/// }
/// ```
public struct TransportProvider: Sendable {
    private let make: @Sendable () async throws -> any Transport

    /// Creates a provider. If the transport is a ``TestTransport``, the problems that it finds are failures of the test.
    public init(_ make: @escaping @Sendable () async throws -> any Transport) { self.make = make }

    /// Creates the transport of one test.
    ///
    /// - Throws: The closure's error.
    public func makeTransport() async throws -> any Transport { try await make() }
}

extension TransportProvider {
    /// Returns a provider of a ``MockRouter`` with some routes.
    ///
    /// - Parameters:
    ///   - baseURL: The URL that the patterns of the routes are relative to; `nil` if they are paths on any host.
    ///   - addRoutes: Adds the routes. The test can add others to ``MockRouter/current``.
    public static func router(
        baseURL: String? = nil, _ addRoutes: @escaping @Sendable (MockRouter) throws -> Void
    ) -> TransportProvider {
        TransportProvider {
            let router = MockRouter(baseURL: baseURL)
            try addRoutes(router)
            return router
        }
    }

    /// Returns a provider of a ``MockTransport``.
    public static func mock(_ handler: @escaping MockTransport.Handler) -> TransportProvider {
        TransportProvider { MockTransport(handler) }
    }

    /// Returns a provider of an ``InProcessTransport``.
    public static func server(_ server: @escaping InProcessTransport.Server) -> TransportProvider {
        TransportProvider { InProcessTransport(server) }
    }

    /// Returns a provider of an ``InProcessTransport`` in front of an application that is made for each case of a test, so that cases share
    /// no state:
    ///
    /// ```swift
    /// @Test(.trellis(.application {
    ///     let shop = Shop(database: .inMemory)
    ///     return { request in try await shop.response(to: request) }
    /// }))
    /// ```
    ///
    /// - Parameter make: Makes the application, and returns the function that responds.
    public static func application(
        _ make: @escaping @Sendable () async throws -> InProcessTransport.Server
    ) -> TransportProvider {
        TransportProvider { InProcessTransport(try await make()) }
    }

    /// A provider of a ``NoNetworkTransport``, for tests that must send nothing.
    public static var noNetwork: TransportProvider { TransportProvider { NoNetworkTransport() } }
}
