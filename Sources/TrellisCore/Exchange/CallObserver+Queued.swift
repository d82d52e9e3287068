import HTTPTypes

/// The properties of ``RequestEvent/Kind/queued(_:)``: the parts of the request, which are joined for a reader.
private final class QueuedStorage: EventStorage {
    let origin: EventOrigin
    private let source: Request
    private let defaultFields: HTTPFields?

    init(_ origin: EventOrigin, _ request: TransportRequest) {
        self.origin = origin
        (source, defaultFields) = (request.source, request.defaultFields)
    }

    var kind: RequestEvent.Kind { .queued(TransportRequest.joined(source, with: defaultFields)) }
    var detail: EventDetail { .exchanges }
}

extension CallObserver {
    /// Sends `queued` with a request that waits for its slot.
    func tellQueued(_ request: TransportRequest, attempt: Int) {
        guard let origin = makeOrigin(in: .exchanges, attempt: attempt) else { return }
        send(RequestEvent(QueuedStorage(origin, request)), in: .exchanges)
    }
}
