#if Service
import Logging
public import ServiceLifecycle
public import TrellisCore

/// A session as a service of a `ServiceGroup`: a graceful shutdown of the group drains the session.
///
/// ```swift
/// let session = Session(configuration: configuration)
/// let group = ServiceGroup(
///     services: [SessionService(session, grace: .seconds(20)), server, ShutdownAnnouncement()],
///     gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// A group ends its services in reverse order. List the session before the services that send requests with it, so that it drains after
/// them.
///
/// - On a graceful shutdown, the session refuses new requests (``/Trellis/TrellisError/Kind/cancelled``). Requests in flight continue for
///   ``grace`` at most, with their retries, redirects and credentials: ``/Trellis/Session/shutdown(drainingFor:)``.
/// - On a cancellation of the task, requests in flight end at once. A group cancels its services when one of them fails, or after
///   `maximumGracefulShutdownDuration`.
///
/// The service ends when all connections are closed, the monitors have handled their events, and the index of a
/// ``/Trellis/DiskCacheStorage`` is saved. A resolver that the setting `resolver.url` has made ends with the last session of its
/// configuration; end any other ``/Trellis/DNSOverHTTPS`` yourself.
///
/// The session cannot be used afterwards: do not give ``/Trellis/Session/default`` to a service.
public struct SessionService: Service {
    /// The session.
    public let session: Session
    /// The time for which requests in flight continue after a graceful shutdown.
    public let grace: Duration

    /// Creates the service of a session. The session can be used before the service runs.
    ///
    /// - Parameters:
    ///   - session: The session, which is shut down at the end of ``run()``.
    ///   - grace: The time for which requests in flight continue after a graceful shutdown; 30 seconds by default. It should be shorter
    ///     than the time after which the process is killed, such as `terminationGracePeriodSeconds` of Kubernetes, by what the other
    ///     services of the group need.
    public init(_ session: Session, grace: Duration = .seconds(30)) {
        self.session = session
        self.grace = grace
    }

    /// The state of the session: running, draining with the number of its requests, or ended.
    public var health: SessionHealth { session.health }

    /// Waits for a graceful shutdown or a cancellation of the task, and ends the session. Outside of a `ServiceGroup`, only a cancellation
    /// ends the wait.
    ///
    /// The method does not throw: a session that has ended because of a cancellation is no failure.
    public func run() async {
        var (grace, cause) = (grace, "graceful shutdown")
        do {
            try await gracefulShutdown()
        } catch {
            (grace, cause) = (.zero, "cancellation")
        }
        let logger = Self.currentLogger
        logger.debug("Session shuts down", metadata: ["trellis.shutdown.cause": "\(cause)"])
        await end(within: grace)
        let resolver = session.configuration.resolver as? any ServerResolver
        if resolver?.users?.leave(session) == true { await resolver?.shutdown() }
        await session.configuration.cache?.close()
        logger.debug("Session has ended")
    }

    /// The logger of the task; outside of any scope, where `Logger.current` has no label, one with a label.
    static var currentLogger: Logger {
        let logger = Logger.current
        // A scope may have bound a handler or metadata without a label.
        guard logger.label.isEmpty, logger.handler.metadata.isEmpty, logger.logLevel == ownLogger.logLevel,
            type(of: logger.handler) == type(of: ownLogger.handler)
        else { return logger }
        return ownLogger
    }

    /// The logger that the process was bootstrapped with when the first service wrote its first line.
    private static let ownLogger = Logger(label: "trellis.service")

    /// Shuts the session down. A cancellation of the task ends the grace.
    private func end(within grace: Duration) async {
        let (wait, continuation) = AsyncStream.makeStream(of: Void.self)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await session.shutdown(drainingFor: grace)
                continuation.finish()
            }
            group.addTask {
                // The loop ends with the shutdown, and with a cancellation.
                for await _ in wait {}
                if Task.isCancelled { await session.shutdown() }
            }
        }
    }
}

extension SessionService: CustomStringConvertible {
    /// The name of the service in the log of its group.
    public var description: String { "SessionService" }
}
#else
/// A session as a service of a `ServiceGroup`, which needs the trait `Service` of the package.
@available(*, unavailable, message: "enable the package's trait: .package(…, traits: [\"Service\"])")
public struct SessionService {
    /// Creates the service of a session, which needs the trait `Service` of the package.
    @available(*, unavailable, message: "enable the package's trait: .package(…, traits: [\"Service\"])")
    public init(_ session: Any, grace: Duration = .seconds(30)) {}
}
#endif
