extension Session {
    /// Server-sent events from a server, over as many connections as it takes.
    ///
    /// `Accept: text/event-stream` and `Cache-Control: no-cache` are sent unless the request has such fields. A request
    /// without ``Request/timeouts`` of its own has the session's, but none in total; a stream that is silent for longer than
    /// ``Timeouts/idle`` counts as lost and is opened again. To go on where an earlier process stopped, give the request the
    /// `Last-Event-ID` to begin with.
    ///
    /// - Parameters:
    ///   - request: The request, made anew for each connection. Its body, if it has one, must be one that can be sent again.
    ///   - reconnection: When the stream is opened again.
    ///   - maximumEventSize: The limit on the bytes of an event's data and of each line, 1 MiB unless given. A larger event
    ///     is an error of kind ``TrellisError/Kind/bodyTooLarge``.
    public func events(
        from request: some RequestConvertible, reconnecting reconnection: EventSourceReconnection = .init(),
        maximumEventSize: Int = ServerSentEventSequence.maximumEventSize
    ) -> EventSource {
        events(from: request, reconnection, maximumEventSize) { Double.random(in: 0..<1) }
    }

    /// As the public one, with random numbers of the caller's.
    func events(
        from request: some RequestConvertible, _ reconnection: EventSourceReconnection,
        _ maximumEventSize: Int = ServerSentEventSequence.maximumEventSize, random: @escaping @Sendable () -> Double
    ) -> EventSource {
        let connection = EventSourceConnection(
            session: self, convert: { try request.asRequest() }, limit: maximumEventSize, random: random)
        return EventSource(connection, EventSourceState(reconnection))
    }
}
