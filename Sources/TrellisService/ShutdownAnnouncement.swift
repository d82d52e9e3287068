#if Service
import Logging
public import ServiceLifecycle
private import Synchronization

/// The announcement that a process is about to end, as a service of a `ServiceGroup`. It is the first part of a graceful shutdown: the
/// process still accepts and answers requests, and tells the load balancer to send no more.
///
/// ```swift
/// let announcement = ShutdownAnnouncement(for: .seconds(10))
/// let group = ServiceGroup(
///     services: [SessionService(session), server, announcement],  // the announcement last: it is the first to end
///     gracefulShutdownSignals: [.sigterm], logger: logger)
/// ```
///
/// When a server closes its listening socket, the system resets the connections that still wait there, with the requests on them. The
/// announcement prevents that. From the beginning of a graceful shutdown, ``hasBegun`` is true, and the routes of the server read it: a
/// probe of the process answers 503, and each response has `Connection: close`, so that its client connects elsewhere. After ``duration``,
/// the service ends, and the group shuts down the server, which gets no more requests by then.
///
/// A group ends its services in reverse order: list the announcement last. Its time counts for `maximumGracefulShutdownDuration` of the
/// group.
public final class ShutdownAnnouncement: Service {
    /// The time from the beginning of a graceful shutdown to the end of the service.
    public let duration: Duration
    private let clock: any Clock<Duration>
    private let begun = Atomic(false)

    /// Creates an announcement, which begins with the graceful shutdown of the group that runs it.
    ///
    /// - Parameters:
    ///   - duration: The time for which the process still accepts requests; 5 seconds by default. It should be longer than the load
    ///     balancer needs to notice: the interval of its probes times the failures that it waits for, and the time from its choice of a
    ///     process to the arrival of the request. Zero or less ends the service at once.
    ///   - clock: The clock that measures the time.
    public init(for duration: Duration = .seconds(5), clock: any Clock<Duration> = ContinuousClock()) {
        self.duration = duration
        self.clock = clock
    }

    /// Whether the process is about to end: false until a graceful shutdown or a cancellation, true from then on.
    public var hasBegun: Bool { begun.load(ordering: .acquiring) }

    /// Waits for a graceful shutdown, and then for ``duration``. A cancellation of the task ends both waits. Outside of a `ServiceGroup`,
    /// only a cancellation ends the first.
    public func run() async {
        do {
            try await gracefulShutdown()
        } catch {
            begun.store(true, ordering: .releasing)
            return
        }
        let logger = SessionService.currentLogger
        logger.debug("Shutdown is announced", metadata: ["trellis.shutdown.announcement": "\(duration)"])
        await announce(on: clock)
        logger.debug("Announcement of the shutdown has ended")
    }

    /// The longest wait: about 68 years. A clock ends the process at an instant that it cannot represent.
    private static let maximumWait = Duration.seconds(Int32.max)

    /// Begins the announcement, and waits for its end. A cancellation of the task ends the wait.
    private func announce<C: Clock<Duration>>(on clock: C) async {
        let end = clock.now.advanced(by: min(duration, Self.maximumWait))
        begun.store(true, ordering: .releasing)
        guard duration > .zero else { return }
        // A cancellation is no failure of the service.
        try? await clock.sleep(until: end, tolerance: nil)
    }
}

extension ShutdownAnnouncement: CustomStringConvertible {
    /// The name of the service in the log of its group.
    public var description: String { "ShutdownAnnouncement" }
}
#else
/// The announcement that a process is about to end, which needs the trait `Service` of the package.
@available(*, unavailable, message: "enable the package's trait: .package(…, traits: [\"Service\"])")
public struct ShutdownAnnouncement {
    /// Creates an announcement, which needs the trait `Service` of the package.
    @available(*, unavailable, message: "enable the package's trait: .package(…, traits: [\"Service\"])")
    public init(for duration: Duration = .seconds(5)) {}
}
#endif
