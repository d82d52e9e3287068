/// The call of an event, and its place in the call.
struct EventOrigin: Sendable {
    let subject: EventSubject
    /// The number of the attempt, from 1 on.
    let attempt: Int
    /// The time since the call was made, in nanoseconds.
    let elapsed: Int64
}

/// The properties of an event.
///
/// The kind of an event is passed to readers as a value with all of its parts. A kind that takes long to make has a storage of its own,
/// with the facts that the kind is made of when it is read: most readers look at a few kinds of events.
protocol EventStorage: AnyObject, Sendable {
    var origin: EventOrigin { get }
    /// The kind of the event, made each time it is read.
    var kind: RequestEvent.Kind { get }
    /// The detail that an observer asks for to get the event.
    var detail: EventDetail { get }
}

/// The properties of an event whose kind is known.
final class KindStorage: EventStorage {
    let origin: EventOrigin
    let kind: RequestEvent.Kind

    init(_ origin: EventOrigin, _ kind: consuming RequestEvent.Kind) {
        self.origin = origin
        self.kind = kind
    }

    var detail: EventDetail { kind.detail }
}

/// The properties of ``RequestEvent/Kind/connected(_:)``.
private final class ConnectedStorage: EventStorage {
    let origin: EventOrigin
    private let connection: ConnectionInfo

    init(_ origin: EventOrigin, _ connection: consuming ConnectionInfo) {
        self.origin = origin
        self.connection = connection
    }

    var kind: RequestEvent.Kind { .connected(connection) }
    var detail: EventDetail { .connections }
}

/// The properties of ``RequestEvent/Kind/exchangeEnded(_:_:)`` without an error: the response, which has the metrics.
private final class EndedStorage: EventStorage {
    let origin: EventOrigin
    private let response: Response

    init(_ origin: EventOrigin, _ response: Response) {
        self.origin = origin
        self.response = response
    }

    var kind: RequestEvent.Kind {
        var metrics = response.metrics
        // A cache may add its status to the response later.
        if metrics.cacheStatus != nil { metrics.cacheStatus = nil }
        return .exchangeEnded(metrics, nil)
    }
    var detail: EventDetail { .exchanges }
}

extension CallObserver {
    /// Sends `connected`.
    func tellConnected(_ connection: consuming ConnectionInfo, attempt: Int) {
        guard let origin = makeOrigin(in: .connections, attempt: attempt) else { return }
        send(RequestEvent(ConnectedStorage(origin, connection)), in: .connections)
    }

    /// Sends `exchangeEnded` with the metrics of a response.
    func tellEnded(_ response: Response, attempt: Int) {
        guard let origin = makeOrigin(in: .exchanges, attempt: attempt) else { return }
        send(RequestEvent(EndedStorage(origin, response)), in: .exchanges)
    }
}
