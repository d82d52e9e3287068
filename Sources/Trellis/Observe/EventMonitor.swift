/// Sees every moment of every request of a session: for logs, metrics and tests.
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
/// The events of a session come one after the other, in the order in which they happened, on the pool and never on the session's
/// thread. A monitor that is slower than its session holds nothing up: it falls behind by at most
/// ``SessionConfiguration/eventBufferSize`` events, and loses the oldest beyond that (``Session/droppedEventCount``).
public protocol EventMonitor: Sendable {
    /// An event has happened.
    func handle(_ event: RequestEvent) async
}

/// A monitor of a closure.
public struct ClosureEventMonitor: EventMonitor {
    private let handler: @Sendable (RequestEvent) async -> Void

    /// A monitor of a closure.
    public init(_ handler: @escaping @Sendable (RequestEvent) async -> Void) { self.handler = handler }

    /// Calls the closure.
    public func handle(_ event: RequestEvent) async { await handler(event) }
}

/// Several monitors as one, which are told in their order.
public struct CompositeEventMonitor: EventMonitor {
    private let monitors: [any EventMonitor]

    /// A monitor of several.
    public init(_ monitors: [any EventMonitor]) { self.monitors = monitors }

    /// Tells each of them.
    public func handle(_ event: RequestEvent) async {
        for monitor in monitors { await monitor.handle(event) }
    }
}
