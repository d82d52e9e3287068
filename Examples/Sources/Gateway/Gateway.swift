import Glibc
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Trellis
import UnixSignals

/// A reverse proxy: a server in front of one origin, which it reaches through a session, with or without a shared cache.
public struct Gateway: Sendable {
    /// The reason why a gateway cannot listen.
    public struct ListenFailure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The reason of the system in words, such as `address already in use`.
        public let reason: String
        /// The failure in words.
        public var description: String { "cannot listen: \(reason)" }

        /// Creates the failure for an error of the system; `nil` if the error has another cause than the address.
        fileprivate init?(_ error: IOError) {
            let code = error.errnoCode
            guard [EADDRINUSE, EADDRNOTAVAIL, EACCES].contains(code) else { return nil }
            reason = String(cString: strerror(code)).lowercasedASCII()
        }
    }

    private let settings: GatewaySettings

    /// Creates a gateway. It listens when it runs.
    public init(_ settings: GatewaySettings) { self.settings = settings }

    /// Listens, and serves until the process gets SIGTERM or SIGINT. Responses that are under way go on to their end, for the drain time of
    /// the settings at most.
    ///
    /// - Parameter whenListening: Gets the port.
    /// - Throws: ``ListenFailure`` if the system does not give the gateway its address; another error of listening.
    public func run(whenListening: @escaping @Sendable (Int) -> Void) async throws {
        let session = Session(configuration: settings.sessionConfiguration)
        let logger = Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() }
        let channel = GatewayChannel(
            relay: Relay(
                session: session, origin: Origin(url: settings.origin, version: settings.originVersion),
                accessLog: settings.accessLog),
            limits: ClientLimits(stall: settings.clientTimeout, idle: settings.keepAliveTime))
        let server = Server(
            childChannelSetup: channel,
            configuration: ServerConfiguration(
                address: .hostname(settings.host, port: settings.port),
                availableConnectionsDelegate: .maximum(settings.maximumConnections, logger: logger)),
            onServerRunning: { whenListening($0.localAddress?.port ?? 0) },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger)
        var configuration = ServiceGroupConfiguration(
            services: [server], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        configuration.maximumGracefulShutdownDuration = settings.drainTime
        let outcome = await Self.outcome(of: ServiceGroup(configuration: configuration))
        await session.shutdown()
        try outcome.get()
    }

    /// Runs the services. The end of the drain time is no failure.
    private static func outcome(of group: ServiceGroup) async -> Result<Void, any Error> {
        do {
            try await group.run()
            return .success(())
        } catch is CancellationError {
            return .success(())
        } catch let error as IOError {
            if let failure = ListenFailure(error) { return .failure(failure) }
            return .failure(error)
        } catch {
            return .failure(error)
        }
    }
}
