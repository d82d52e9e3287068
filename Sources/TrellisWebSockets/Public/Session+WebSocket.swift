import CurlEngine
import FoundationEssentials
public import HTTPTypes
public import TrellisCore

extension Session {
    /// Opens a WebSocket, runs `body` with it, and closes it.
    ///
    /// The connection is closed with the code 1000 after `body` has returned, 1011 after it has thrown an error, and 1001 as soon as the
    /// task is cancelled. The function returns when the connection has ended, at the latest ``WebSocketOptions/closeTimeout`` later.
    ///
    /// - Parameters:
    ///   - request: The request of the handshake: `wss` stands for `https` and `ws` for `http`. See
    ///     ``webSocket(_:options:query:headers:timeout:timeouts:interceptor:)-(_,_,_,HTTPFields,_,_,_)``.
    ///   - options: The settings of the connection.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the handshake, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    ///   - body: The conversation.
    /// - Returns: The result of `body`.
    /// - Throws: The errors of the handshake, as `webSocket` throws them, and the errors of `body`; `CancellationError` if `body` has
    ///   thrown an error in a cancelled task, because that error mostly says only that the connection closes.
    public func withWebSocket<Result>(
        _ request: some RequestConvertible, options: WebSocketOptions = WebSocketOptions(),
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        _ body: (WebSocket) async throws -> Result
    ) async throws -> Result {
        let socket = try await webSocket(
            request, options: options, query: query, headers: headers, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
        do {
            let result = try await withTaskCancellationHandler {
                try await body(socket)
            } onCancel: {
                socket.beginClosing()
            }
            await socket.end(Task.isCancelled ? .goingAway : .normalClosure)
            return result
        } catch {
            let isCancelled = Task.isCancelled
            await socket.end(isCancelled ? .goingAway : .internalError)
            throw isCancelled ? CancellationError() : error
        }
    }

    /// Opens a WebSocket, which is closed by ``WebSocket/close(code:reason:)``, or when its last reference is released.
    ///
    /// The handshake takes the ordinary steps of a request: adapters, authentication, redirects, retries, cookies, proxies, and limits on
    /// time (``Timeouts``), which end with the handshake. ``WebSocketOptions/totalTimeout`` is the limit on the whole conversation. The
    /// connection is one of HTTP/1.1 of its own, and counts among the connections to its origin. A request that demands HTTP/2
    /// (``Request/httpVersion``) gets a stream of the origin's HTTP/2 connection instead, if the server offers that (RFC 8441).
    ///
    /// - Parameters:
    ///   - request: The request of the handshake: a GET without a body. `wss` stands for `https` and `ws` for `http`. The fields of the
    ///     handshake itself are replaced.
    ///   - options: The settings of the connection.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the handshake, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The open connection.
    /// - Throws: ``TrellisError``: of kind ``TrellisError/Kind/unacceptableStatus`` with the response and the beginning of its body if its
    ///   status is not 101 (over HTTP/2: 2xx), of kind ``TrellisError/Kind/webSocket`` if it does not belong to the handshake;
    ///   `CancellationError` in a cancelled task.
    public func webSocket(
        _ request: some RequestConvertible, options: WebSocketOptions = WebSocketOptions(),
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> WebSocket {
        let opening = try opening(
            of: request.asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor), options
        )
        // The frames of a handshake take memory of their task until it ends, and the calling task may live as long as
        // the connection. The frame of this function itself holds a reference only.
        async let socket = opening.open()
        do { return try await socket } catch { throw Self.handshakeError(error) }
    }

    /// Opens a WebSocket, with fields by text or as a list: see ``HeaderLiteral``. Everything else is as in
    /// ``webSocket(_:options:query:headers:timeout:timeouts:interceptor:)-(_,_,_,HTTPFields,_,_,_)``.
    ///
    /// - Throws: ``TrellisError`` if the handshake fails; `CancellationError` in a cancelled task.
    @_disfavoredOverload
    public func webSocket(
        _ request: some RequestConvertible, options: WebSocketOptions = WebSocketOptions(),
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> WebSocket {
        try await webSocket(
            request, options: options, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Opens a WebSocket, runs `body` with it, and closes it, with fields by text or as a list: see ``HeaderLiteral``. Everything else is
    /// as in ``withWebSocket(_:options:query:headers:timeout:timeouts:interceptor:_:)-(_,_,_,HTTPFields,_,_,_,_)``.
    ///
    /// - Throws: The errors of the handshake and of `body`; `CancellationError` if `body` has thrown an error in a cancelled task.
    @_disfavoredOverload
    public func withWebSocket<Result>(
        _ request: some RequestConvertible, options: WebSocketOptions = WebSocketOptions(),
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        _ body: (WebSocket) async throws -> Result
    ) async throws -> Result {
        try await withWebSocket(
            request, options: options, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor, body)
    }

    @inline(never)
    private static func handshakeError(_ error: any Error) -> any Error {
        guard let error = error as? TrellisError else { return error }
        return error.ofWebSocket(.handshake)
    }

    /// Returns the checked request of a handshake.
    @inline(never)
    private func opening(of request: Request, _ options: WebSocketOptions) throws -> WebSocketOpening {
        var request = request
        try options.check()
        guard request.method == .get else {
            throw TrellisError(
                .webSocketFailed(.invalidArgument("the handshake of a WebSocket is a GET")), method: request.method,
                url: request.url)
        }
        let handshake = WebSocketHandshake(options)
        handshake.add(to: &request.headers)
        let start = clock.now()
        if let limit = options.totalTimeout {
            let timeouts = request.timeouts ?? Timeouts()
            request.timeouts = timeouts.completed(by: configuration.timeouts).withTotal(atMost: limit)
        }
        return WebSocketOpening(session: self, request: request, handshake: handshake, options: options, start: start)
    }

    /// Performs the handshake.
    fileprivate func connect(_ opening: WebSocketOpening) async throws -> WebSocket {
        let request = opening.request
        let answer = try await switchProtocols(to: "websocket", request)
        guard let connection = answer.connection else {
            var error = Answer(request: request, response: answer.response, body: answer.body)
                .error(.validationFailed(.status(answer.response.status.code)))
            error.bodyExcerpt = TrellisError.BodyExcerpt(answer.body, isCut: answer.isBodyCut)
            throw error
        }
        let agreement: WebSocketHandshake.Agreement
        do throws(TrellisError.WebSocketFailure) {
            let key = answer.request?.headers[.secWebSocketKey] ?? ""
            agreement = try opening.handshake.check(
                answer.response.headers, key: answer.response.version == .http2 ? nil : key)
        } catch {
            connection.close()
            throw Answer(request: request, response: answer.response, body: nil).error(.webSocketFailed(error))
        }
        return await open(connection, opening, agreement: agreement, response: answer.response)
    }

    private func open(
        _ connection: any DuplexConnection, _ opening: WebSocketOpening, agreement: WebSocketHandshake.Agreement,
        response: Response
    ) async -> WebSocket {
        let context = WebSocketContext(
            clock: clock, timekeeper: { self.timekeeper }, life: life, url: response.url, response: response,
            start: opening.start)
        let open = WebSocketConnection(
            connection, options: opening.options, compression: agreement.compression, context: context)
        await open.start()
        return WebSocket(open, agreement: agreement, response: response)
    }
}

/// A handshake that was prepared.
private final class WebSocketOpening: Sendable {
    private let session: Session
    let request: Request
    let handshake: WebSocketHandshake
    let options: WebSocketOptions
    /// The instant of the call.
    let start: EngineInstant

    init(
        session: Session, request: Request, handshake: WebSocketHandshake, options: WebSocketOptions,
        start: EngineInstant
    ) {
        self.session = session
        self.request = request
        self.handshake = handshake
        self.options = options
        self.start = start
    }

    func open() async throws -> WebSocket { try await session.connect(self) }
}

extension WebSocketOptions {
    /// Checks that the subprotocols can be offered (different tokens: RFC 6455, section 4.1), and that the limits are positive.
    func check() throws(TrellisError) {
        let limits = [
            ("the limit on a message", maximumMessageSize > 0), ("the limit on a frame", maximumFrameSize ?? 1 > 0),
            ("the time between pings", pingInterval ?? .seconds(1) > .zero),
            ("the time for the answer to a ping", pongTimeout ?? .seconds(1) > .zero),
            ("the total time", totalTimeout ?? .seconds(1) > .zero),
        ]
        if let limit = limits.first(where: { !$0.1 }) {
            throw TrellisError(.webSocketFailed(.invalidArgument("\(limit.0) of a WebSocket is not positive")))
        }
        for (index, name) in subprotocols.enumerated() {
            let isToken = !name.isEmpty && name.utf8.allSatisfy(FieldScanner.isTokenByte)
            guard isToken, !subprotocols[..<index].contains(where: { $0.hasSameBytes(as: name) }) else {
                let reason = isToken ? "is offered twice" : "is no token"
                throw TrellisError(.webSocketFailed(.invalidArgument("the subprotocol \"\(name)\" \(reason)")))
            }
        }
    }
}
