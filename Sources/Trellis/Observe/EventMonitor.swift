/// A monitor of every event of a session's requests: for logs, metrics and tests.
///
/// ```swift
/// struct Log: EventMonitor {
///     func handle(_ event: RequestEvent) async {
///         if case .failed(let error) = event.kind { print(event.callID, error) }
///     }
/// }
/// configuration.eventMonitors.append(Log())
/// ```
///
/// The events of a session are delivered one after the other, in the order in which they happened, on the concurrency pool and never on
/// the session's thread. A slow monitor does not delay its session: the monitor falls behind by at most
/// ``SessionConfiguration/eventBufferSize`` events, and loses the oldest events beyond that (``Session/droppedEventCount``).
public protocol EventMonitor: Sendable {
    /// Handles one event.
    func handle(_ event: RequestEvent) async
}

/// A monitor that calls a closure.
public struct ClosureEventMonitor: EventMonitor {
    private let handler: @Sendable (RequestEvent) async -> Void

    /// Creates a monitor that calls a closure.
    public init(_ handler: @escaping @Sendable (RequestEvent) async -> Void) { self.handler = handler }

    /// Calls the closure with the event.
    public func handle(_ event: RequestEvent) async { await handler(event) }
}

/// A monitor that passes each event to several monitors, in their order.
public struct CompositeEventMonitor: EventMonitor {
    private let monitors: [any EventMonitor]

    /// Creates a monitor from several monitors.
    public init(_ monitors: [any EventMonitor]) { self.monitors = monitors }

    /// Passes the event to each monitor.
    public func handle(_ event: RequestEvent) async {
        for monitor in monitors { await monitor.handle(event) }
    }
}
