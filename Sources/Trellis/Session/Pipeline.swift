import CurlEngine
import FoundationEssentials

/// The journey of a request, in the order in which it happens. Each step is one call.
extension Session {
    /// Takes a request from what the caller wrote to the actor that carries it out.
    func makeRequest(_ convertible: some RequestConvertible, isCollected: Bool, isDeferred: Bool = false) throws
        -> RequestActor
    {
        let start = clock.now()
        // Compose: what is asked.
        let request = try convertible.asRequest()
        // Session: completed with the defaults, and checked.
        let prepared = try preparation.prepare(request, isCollected: isCollected, start: start, isDeferred: isDeferred)
        // Exchange: an actor, which waits for its turn, hands itself to the transport and receives.
        return RequestActor(prepared, executor: engine, transport: transport, admission: actor)
    }

    /// Sends a request and receives the whole answer, in the caller's task.
    func collect(_ convertible: some RequestConvertible) async throws -> CollectedResponse {
        try await makeRequest(convertible, isCollected: true).collected()
    }

    /// Sends a request and returns as soon as the head has come.
    func open(_ convertible: some RequestConvertible) async throws -> StreamResponse {
        let request = try makeRequest(convertible, isCollected: false)
        let inbox = BodyInbox {
            request.enter { $0.readerHasDrained() }
        } whenAbandoned: {
            request.enter { $0.cancel(CancellationError()) }
        }
        let head = try await request.head(inbox: inbox)
        // The session lives as long as its streams.
        return StreamResponse(head: head, source: StreamSource(inbox: inbox, request: request, session: self))
    }
}
