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
    ///   - maximumEventSize: The limit on the bytes of an event's data and of each line, 16 MiB unless given. A larger event
    ///     is an error of kind ``TrellisError/Kind/bodyTooLarge``.
    ///   - whenAnswered: Sees the head of every response, one after the other, before it is judged: also that of the 204
    ///     which ends the sequence, and of one that is refused. What it throws ends the sequence.
    public func events(
        from request: some RequestConvertible, reconnecting reconnection: EventSourceReconnection = .init(),
        maximumEventSize: Int = ServerSentEventSequence.maximumEventSize,
        whenAnswered: (@Sendable (Response) async throws -> Void)? = nil
    ) -> EventSource {
        events(from: request, reconnection, maximumEventSize, whenAnswered) { Double.random(in: 0..<1) }
    }

    /// As the public one, with random numbers of the caller's.
    func events(
        from request: some RequestConvertible, _ reconnection: EventSourceReconnection,
        _ maximumEventSize: Int = ServerSentEventSequence.maximumEventSize,
        _ whenAnswered: (@Sendable (Response) async throws -> Void)? = nil, random: @escaping @Sendable () -> Double
    ) -> EventSource {
        let connection = EventSourceConnection(
            session: self, convert: { try request.asRequest() }, limit: maximumEventSize, whenAnswered: whenAnswered,
            random: random)
        return EventSource(connection, EventSourceState(reconnection))
    }
}
