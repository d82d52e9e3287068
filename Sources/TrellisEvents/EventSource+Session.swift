public import HTTPTypes
public import TrellisCore

extension Session {
    /// Returns the server-sent events of a server, over as many connections as needed. A request whose method is not idempotent, such as a
    /// `POST`, is sent once unless ``ReconnectionPolicy/repeatsAnyMethod`` is set.
    ///
    /// `Accept: text/event-stream` and `Cache-Control: no-cache` are sent unless the request has such fields. A request without
    /// ``Request/timeouts`` of its own has the session's, but none in total; a stream that is silent for longer than
    /// ``Timeouts/idle`` counts as lost and is opened again. To continue after the last event of an earlier process, give the
    /// request the `Last-Event-ID` to begin with.
    ///
    /// - Parameters:
    ///   - request: The request, converted for each connection. The body of one that is repeated must be one that can be sent again.
    ///   - reconnection: The rules for opening the stream again.
    ///   - maximumEventSize: The limit on the bytes of an event's data and of each line, 16 MiB unless given. A larger event is
    ///     an error of kind ``TrellisError/Kind/bodyTooLarge``.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on each connection, from its request to the end of its stream, ``Timeouts/total``; if `nil`, the one of
    ///     `timeouts` or the request, and otherwise none. A stream that reaches it counts as lost. To limit the time of the whole
    ///     sequence, cancel the task that reads it.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    ///   - onResponse: A closure that receives the head of every response, one after the other, before the response is
    ///     validated: also for the 204 that ends the sequence, and for a response that is refused. An error that the
    ///     closure throws ends the sequence.
    public func eventSource(
        _ request: some RequestConvertible, reconnecting reconnection: ReconnectionPolicy = .init(),
        maximumEventSize: Int = ServerSentEventSequence.maximumEventSize, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        onResponse: (@Sendable (Response) async throws -> Void)? = nil
    ) -> EventSource {
        eventSource(
            from: {
                try request.asRequest().adjusted(
                    query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
            }, reconnecting: reconnection,
            maximumEventSize: maximumEventSize,
            onResponse: onResponse
        ) { Double.random(in: 0..<1) }
    }

    /// Returns the server-sent events of a server, with the fields of the requests by text or as a list: see ``HeaderLiteral``. Everything
    /// else is as in the method of the same name that takes `HTTPFields`.
    @_disfavoredOverload
    public func eventSource(
        _ request: some RequestConvertible, reconnecting reconnection: ReconnectionPolicy = .init(),
        maximumEventSize: Int = ServerSentEventSequence.maximumEventSize,
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        onResponse: (@Sendable (Response) async throws -> Void)? = nil
    ) -> EventSource {
        eventSource(
            request, reconnecting: reconnection, maximumEventSize: maximumEventSize, query: query,
            headers: headers.fields, timeout: timeout, timeouts: timeouts, interceptor: interceptor,
            onResponse: onResponse)
    }

    /// Returns the events as the public method does, with the caller's random numbers.
    func eventSource(
        from make: @escaping @Sendable () throws -> Request, reconnecting reconnection: ReconnectionPolicy,
        maximumEventSize: Int = ServerSentEventSequence.maximumEventSize,
        onResponse: (@Sendable (Response) async throws -> Void)? = nil, random: @escaping @Sendable () -> Double
    ) -> EventSource {
        let connection = EventSourceConnection(
            session: self, convert: make, limit: maximumEventSize, onResponse: onResponse,
            random: random)
        return EventSource(connection, EventSourceState(reconnection))
    }
}
