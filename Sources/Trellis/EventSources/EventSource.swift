import CurlEngine
import FoundationEssentials
import HTTPTypes

/// Server-sent events (WHATWG HTML, section 9.2) over as many connections as it takes: a stream that ends or is lost is
/// opened again, from the last event on where the server knows how.
///
/// ```swift
/// for try await event in session.events(from: "https://example.com/news") {
///     print(event.event, event.data)
/// }
/// ```
///
/// It connects when the first event is asked for. The sequence ends when the server answers 204, and throws what no new
/// attempt can mend: any other status than 200 (kind ``TrellisError/Kind/unacceptableStatus``), a type other than
/// `text/event-stream` (kind ``TrellisError/Kind/unacceptableContentType``), an untrusted
/// certificate. Leaving the loop or cancelling its task ends it at once, wherever it is.
public struct EventSource: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = ServerSentEvent

    private let connection: EventSourceConnection
    private let state: EventSourceState

    init(_ connection: EventSourceConnection, _ state: EventSourceState) {
        self.connection = connection
        self.state = state
    }

    /// Reads the events, over connections of its own.
    public func makeAsyncIterator() -> Iterator { Iterator(connection: connection, state: state) }

    /// The reader of the events.
    public struct Iterator: AsyncIteratorProtocol {
        private enum Place {
            case closed
            case reading(BodyReader<ServerSentEventParser>)
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

        /// The next event, however long it takes; `nil` when the server wants no more connections.
        ///
        /// - Throws: ``TrellisError`` that no new attempt can mend, or the last of
        ///   ``EventSourceReconnection/maximumFailures``; `CancellationError` in a cancelled task; what the request's
        ///   conversion threw. After an error it has ended.
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

        private mutating func open() async throws -> Place {
            try Task.checkCancellation()
            let request = state.prepare(try connection.convert())
            let response: StreamResponse
            do { response = try await connection.session.stream(request) } catch { return try place(after: error) }
            // What it throws is the end, whatever it is.
            try await connection.whenAnswered?(response.head)
            switch state.judge(
                status: response.head.status.code, contentType: response.head.headerFields[.contentType])
            {
            case .read:
                let parser = ServerSentEventParser(limit: connection.limit, lastEventID: state.lastEventID ?? "")
                return .reading(BodyReader(parser, response.chunks))
            case .stop: return .ended
            case .fail(let failure):
                let answer = Answer(request: request, response: response.head, body: nil)
                throw try await response.refuse(answer.error(.validationFailed(failure)))
            }
        }

        private mutating func read(_ reader: BodyReader<ServerSentEventParser>) async throws -> ServerSentEvent? {
            var reader = reader
            // One reference at a time: nothing is copied.
            place = .ended
            do {
                if let event = try await reader.next() {
                    place = .reading(reader)
                    return event
                }
                remember(reader.machine)
                place = .waiting(state.delayAfterEnd())
            } catch {
                remember(reader.machine)
                place = try place(after: error)
            }
            return nil
        }

        private mutating func remember(_ parser: ServerSentEventParser) {
            state.lastEventID = parser.lastEventID
            state.reconnectionTime = parser.reconnectionTime ?? state.reconnectionTime
        }

        private mutating func place(after error: any Error) throws -> Place {
            guard let delay = state.delay(after: error, random: connection.random()) else { throw error }
            return .waiting(delay)
        }
    }
}
