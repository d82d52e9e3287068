import CurlEngine
import FoundationEssentials
public import HTTPTypes
public import TrellisCore

/// A WebSocket that is opened again whenever it has ended, as a sequence of open connections.
///
/// ```swift
/// for try await socket in session.reconnectingWebSockets("wss://example.com/news") {
///     do {
///         for try await message in socket.messages { show(message) }
///     } catch let error as TrellisError {
///         log(error)  // lost: the loop continues with the next connection
///     }
/// }
/// ```
///
/// A connection is opened when it is requested. The next iteration closes the one before, and waits. After the code 1000 or none, it waits
/// for ``ReconnectionPolicy/initialDelay``; after 1001 with a random part, so that the clients of a server that restarts do not all return
/// at once. After a loss, a failure to connect or another code, it waits with the backoff. A connection on which the server has sent a
/// message begins a new count of failures. Errors that no new connection can correct end the sequence, such as a status that is not
/// transient or an untrusted certificate, and so does the last of ``ReconnectionPolicy/maximumFailures`` failures in a row. Leaving the
/// loop closes the connection.
public struct WebSocketSequence: AsyncSequence, Sendable {
    /// An open connection.
    public typealias Element = WebSocket

    let session: Session
    /// A closure that opens a connection.
    let open: @Sendable () async throws -> WebSocket
    let reconnection: ReconnectionPolicy
    /// A closure that returns random numbers from 0 up to 1.
    let random: @Sendable () -> Double

    /// Returns an iterator, which opens new connections.
    public func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }

    /// The iterator over the connections.
    public struct Iterator: AsyncIteratorProtocol {
        private let sequence: WebSocketSequence
        private var current: WebSocket?
        private var backoff: WebSocketBackoff
        private var isEnded = false

        fileprivate init(sequence: WebSocketSequence) {
            self.sequence = sequence
            backoff = WebSocketBackoff(sequence.reconnection)
        }

        /// Returns the next open connection, however long that takes. Never `nil`, unless an error was thrown before.
        ///
        /// - Throws: ``TrellisError`` that no new connection can correct, or the last of several failures; `CancellationError` in a
        ///   cancelled task; the error of the request's conversion.
        public mutating func next() async throws -> WebSocket? {
            guard !isEnded else { return nil }
            do {
                if let last = current.take() { try await leave(last) }
                while true {
                    do {
                        let socket = try await sequence.open()
                        current = socket
                        return socket
                    } catch {
                        try await wait(delay(after: error))
                    }
                }
            } catch {
                isEnded = true
                throw error
            }
        }

        /// Closes the last connection, and waits before the next one.
        @inline(never)
        private mutating func leave(_ last: WebSocket) async throws {
            await last.end(.normalClosure)
            let delay = backoff.delay(
                after: last.closeCode, hasMessages: last.hasMessages, random: sequence.random())
            guard let delay else { throw await endError(of: last) }
            try await wait(delay)
        }

        // The functions that have errors are not inlined: the task that reads the messages would keep the memory of their large frames.

        @inline(never)
        private func endError(of last: WebSocket) async -> any Error { await last.endError }

        /// Returns the time to wait after a failure to connect. Throws the error if a new connection cannot correct it, or is not allowed.
        @inline(never)
        private mutating func delay(after error: any Error) throws -> Duration {
            guard let failure = error as? TrellisError,
                let delay = backoff.delay(after: failure, random: sequence.random())
            else { throw error }
            return delay
        }

        @inline(never)
        private func wait(_ duration: Duration) async throws {
            guard try await sequence.session.timekeeper.delay(for: duration) else {
                throw TrellisError(.cancelled(.sessionShutDown))
            }
        }
    }
}

/// The waits between the connections of a sequence. A pure value.
struct WebSocketBackoff {
    let rules: ReconnectionPolicy
    /// The failures since a connection that ended properly, or that brought a message of the server.
    private var failures = 0

    init(_ rules: ReconnectionPolicy) { self.rules = rules }

    /// Returns the time to wait after a connection that was open; `nil` if another one is not allowed.
    mutating func delay(after code: WebSocketCloseCode?, hasMessages: Bool, random: Double) -> Duration? {
        if hasMessages || code?.isNormal == true { failures = 0 }
        if code?.isNormal == true {
            let isRandom = code == .goingAway
            return rules.delay(failures: isRandom ? 1 : 0, reconnectionTime: nil, random: random)
        }
        return delayAfterFailure(random)
    }

    /// Returns the time to wait after a connection that could not be opened; `nil` if another one is useless or not allowed.
    mutating func delay(after error: TrellisError, random: Double) -> Duration? {
        guard error.mayPassWithAnotherConnection else { return nil }
        return delayAfterFailure(random)
    }

    private mutating func delayAfterFailure(_ random: Double) -> Duration? {
        failures += 1
        if let limit = rules.maximumFailures, failures >= limit { return nil }
        return rules.delay(failures: failures, reconnectionTime: nil, random: random)
    }
}

extension Session {
    /// Returns a WebSocket that is opened again whenever it has ended, as a sequence of open connections.
    ///
    /// - Parameters:
    ///   - request: The request of the handshake, converted for each connection.
    ///   - options: The settings of each connection.
    ///   - reconnection: The rules for opening the connection again.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on each handshake, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session. An open
    ///     connection has no limit. To limit the time of the whole sequence, cancel the task that reads it.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The open connections, one after the other.
    public func reconnectingWebSockets(
        _ request: some RequestConvertible, options: WebSocketOptions = WebSocketOptions(),
        reconnecting reconnection: ReconnectionPolicy = .init(), query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> WebSocketSequence {
        reconnectingWebSockets(reconnection, random: { Double.random(in: 0..<1) }) {
            try await self.webSocket(
                request, options: options, query: query, headers: headers, timeout: timeout, timeouts: timeouts,
                interceptor: interceptor)
        }
    }

    /// Returns a WebSocket that is opened again whenever it has ended, with fields by text or as a list: see ``HeaderLiteral``. Everything
    /// else is as in
    /// ``reconnectingWebSockets(_:options:reconnecting:query:headers:timeout:timeouts:interceptor:)-(_,_,_,_,HTTPFields,_,_,_)``.
    @_disfavoredOverload
    public func reconnectingWebSockets(
        _ request: some RequestConvertible, options: WebSocketOptions = WebSocketOptions(),
        reconnecting reconnection: ReconnectionPolicy = .init(), query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> WebSocketSequence {
        reconnectingWebSockets(
            request, options: options, reconnecting: reconnection, query: query, headers: headers.fields,
            timeout: timeout, timeouts: timeouts, interceptor: interceptor)
    }

    /// Returns the connections as the public method does, with the caller's random numbers.
    func reconnectingWebSockets(
        _ reconnection: ReconnectionPolicy, random: @escaping @Sendable () -> Double,
        open: @escaping @Sendable () async throws -> WebSocket
    ) -> WebSocketSequence {
        WebSocketSequence(session: self, open: open, reconnection: reconnection, random: random)
    }
}
