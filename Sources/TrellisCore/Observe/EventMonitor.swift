/// A monitor of events: for logs, metrics and tests. A monitor of a session gets the events of all of its requests
/// (``SessionConfiguration/eventMonitors``), and a monitor of a request gets this request's (``Request/eventMonitors``).
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
/// ``SessionConfiguration/eventBufferSize`` events, and loses the oldest events beyond that. It learns their number
/// (``RequestEvent/Kind/eventsDropped(_:)``); ``Session/droppedEventCounts`` are the sums for each monitor, and
/// ``Session/droppedEventCount`` is the sum for all observers.
public protocol EventMonitor: Sendable {
    /// The detail of the events that the monitor gets; ``EventDetail/connections``, which means all events, by default. Read once.
    var eventDetail: EventDetail { get }
    /// Handles one event.
    func handle(_ event: RequestEvent) async
}

extension EventMonitor {
    /// The default, ``EventDetail/connections``: the monitor gets all events.
    public var eventDetail: EventDetail { .connections }
}

/// A monitor that calls a closure.
public struct ClosureEventMonitor: EventMonitor {
    /// The detail of the events that the closure gets.
    public let eventDetail: EventDetail
    private let handler: @Sendable (RequestEvent) async -> Void

    /// Creates a monitor that calls a closure.
    ///
    /// - Parameters:
    ///   - detail: The detail of the events that the closure gets; all events by default.
    ///   - handler: The closure, which gets one event after the other.
    public init(
        detail: EventDetail = .connections, _ handler: @escaping @Sendable (RequestEvent) async -> Void
    ) {
        eventDetail = detail
        self.handler = handler
    }

    /// Calls the closure with the event.
    public func handle(_ event: RequestEvent) async { await handler(event) }
}

/// A monitor that passes each event to several monitors, in their order. Each of them gets the events of its own detail.
public struct CompositeEventMonitor: EventMonitor {
    let monitors: [any EventMonitor]

    /// Creates a monitor from several monitors.
    public init(_ monitors: [any EventMonitor]) { self.monitors = monitors }

    /// The greatest detail that one of the monitors gets.
    public var eventDetail: EventDetail { monitors.map(\.eventDetail).max() ?? .calls }

    /// Passes the event to each monitor that gets it.
    public func handle(_ event: RequestEvent) async {
        let detail = event.detail
        for monitor in monitors where monitor.eventDetail >= detail { await monitor.handle(event) }
    }
}
