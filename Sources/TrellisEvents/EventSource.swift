import CurlEngine
import FoundationEssentials
import HTTPTypes
public import TrellisCore

/// Server-sent events (WHATWG HTML, section 9.2) over as many connections as needed: a stream that ends or is lost is opened
/// again, from the last event on if the server supports that.
///
/// ```swift
/// for try await event in session.eventSource("https://example.com/news") {
///     print(event.event, event.data)
/// }
/// ```
///
/// A stream is opened again only if the request's method is idempotent (RFC 9110, section 9.2.2). A `POST`, as the services of language
/// models expect it, is sent once: the sequence ends with its stream, and throws the error of a loss.
/// ``ReconnectionPolicy/repeatsAnyMethod`` changes that.
///
/// The sequence connects when the first event is requested. It ends when the server responds 204, and throws an error that no new
/// attempt can correct: for any status other than 200 (kind ``TrellisError/Kind/unacceptableStatus``), a type other than
/// `text/event-stream` (kind ``TrellisError/Kind/unacceptableContentType``), or an untrusted certificate. Leaving the loop or
/// cancelling its task ends the sequence at once, in any state.
public struct EventSource: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = ServerSentEvent

    private let connection: EventSourceConnection
    private let state: EventSourceState

    init(_ connection: EventSourceConnection, _ state: EventSourceState) {
        self.connection = connection
        self.state = state
    }

    /// Returns an iterator over the events, which opens connections of its own.
    public func makeAsyncIterator() -> Iterator { Iterator(connection: connection, state: state) }

    /// The iterator over the events.
    public struct Iterator: AsyncIteratorProtocol {
        /// The state of the iterator's connection.
        private enum Place {
            case closed
            case reading(ServerSentEventSequence.Iterator)
            case waiting(Duration)
            case ended
        }

        private let connection: EventSourceConnection
        private var state: EventSourceState
        private var place = Place.closed

        fileprivate init(connection: EventSourceConnection, state: EventSourceState) {
            self.connection = connection
            self.state = state
        }

        /// Returns the next event, however long that takes; `nil` if the server has responded 204 and wants no more connections, or if the
        /// stream has ended and its request must not be repeated.
        ///
        /// - Throws: ``TrellisError`` that no new attempt can correct, or the last error of
        ///   ``ReconnectionPolicy/maximumFailures`` in a row; `CancellationError` in a cancelled task; the error of the
        ///   request's conversion. After an error the sequence has ended.
        public mutating func next() async throws -> ServerSentEvent? {
            do {
                while true {
                    switch place {
                    case .closed: place = try await open()
                    case .reading(let reader): if let event = try await read(reader) { return event }
                    case .waiting(let duration):
                        try await connection.wait(duration)
                        place = .closed
                    case .ended: return nil
                    }
                }
            } catch {
                place = .ended
                throw error
            }
        }

        /// Opens a connection, and validates the head of its response.
        private mutating func open() async throws -> Place {
            try Task.checkCancellation()
            let request = state.prepare(try connection.convert())
            let response: StreamResponse
            do { response = try await connection.session.stream(request) } catch { return try place(after: error) }
            // Any error of the closure ends the sequence.
            try await connection.onResponse?(response.response)
            switch state.judge(
                status: response.response.status.code, contentType: response.response.headers[.contentType])
            {
            case .read:
                state.begin(sent: response.sent.sentRequest)
                return .reading(
                    ServerSentEventSequence.Iterator(
                        response.chunks, limit: connection.limit, lastEventID: state.lastEventID ?? ""))
            case .stop: return .ended
            case .fail(let failure):
                let answer = Answer(request: request, response: response.response, body: nil)
                throw try await response.refuse(answer.error(.validationFailed(failure)))
            }
        }

        /// Reads an event; returns `nil` if the stream has ended or was lost, after which the iterator waits or ends.
        private mutating func read(_ reader: ServerSentEventSequence.Iterator) async throws -> ServerSentEvent? {
            var reader = reader
            // Only this variable refers to the reader, so that its buffer is not copied.
            place = .ended
            do {
                if let event = try await reader.next() {
                    place = .reading(reader)
                    return event
                }
                remember(reader)
                place = state.delayAfterEnd().map { .waiting($0) } ?? .ended
            } catch {
                remember(reader)
                place = try place(after: error)
            }
            return nil
        }

        /// Keeps the event ID and the reconnection time of a stream that has ended.
        private mutating func remember(_ reader: ServerSentEventSequence.Iterator) {
            state.lastEventID = reader.lastEventID
            state.reconnectionTime = reader.reconnectionTime ?? state.reconnectionTime
        }

        /// Returns the wait before the next connection, or throws the error if no connection can correct it.
        private mutating func place(after error: any Error) throws -> Place {
            guard let delay = state.delay(after: error, random: connection.random()) else { throw error }
            return .waiting(delay)
        }
    }
}

/// The values from which an event source opens each of its connections.
struct EventSourceConnection: Sendable {
    let session: Session
    /// A closure that converts the request, for each connection.
    let convert: @Sendable () throws -> Request
    /// The limit on the bytes of an event's data and of each line.
    let limit: Int
    /// A closure that receives the head of each response.
    let onResponse: (@Sendable (Response) async throws -> Void)?
    /// A closure that returns random numbers from 0 up to 1.
    let random: @Sendable () -> Double

    /// Waits on the session's clock. Throws an error if the session is shut down.
    func wait(_ duration: Duration) async throws {
        guard try await session.timekeeper.delay(for: duration) else {
            throw TrellisError(.cancelled(.sessionShutDown))
        }
    }
}
