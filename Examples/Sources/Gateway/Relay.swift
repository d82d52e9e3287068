import FoundationEssentials
import HTTPTypes
import Trellis

/// The passage of requests to the origin, and of its responses to the clients.
struct Relay: Sendable {
    let session: Session
    let origin: Origin
    /// The destination of a line for each request; `nil` if there are none.
    let accessLog: (@Sendable (String) -> Void)?

    /// Responds to a request of a client.
    ///
    /// - Throws: The error of the connection, or `CancellationError` if the client has gone. The connection then ends.
    func respond(to request: ClientRequest, through client: ResponseWriter) async throws {
        let start = ContinuousClock.now
        switch request {
        case .refused(let refusal):
            note(nil, refusal.status, since: start)
            try await client.write(OwnResponse(refusal))
        case .received(let head, let body):
            if let response = OwnResponse(to: head) {
                note(head, response.head.status, since: start)
                try await client.write(response)
            } else {
                try await pass(head, body, client, since: start)
            }
        }
    }

    /// Logs the head of a response.
    ///
    /// - Parameter head: The head of the request; `nil` for a request that cannot be read.
    private func note(_ head: RequestHead?, _ status: HTTPResponse.Status, since start: ContinuousClock.Instant) {
        guard let accessLog else { return }
        let elapsed = (ContinuousClock.now - start) / .milliseconds(1)
        accessLog("\(head.map(\.logText) ?? "-") \(status.code) \(Int(elapsed)) ms")
    }

    private func pass(
        _ head: RequestHead, _ body: ClientBody?, _ client: ResponseWriter, since start: ContinuousClock.Instant
    ) async throws {
        let response: StreamResponse
        let message: HTTPResponse
        do {
            response = try await send(head, body, client)
            message = try PassedResponse.head(of: response.response)
        } catch {
            try Task.checkCancellation()
            guard let response = OwnResponse(error) else { throw error }
            note(head, response.head.status, since: start)
            return try await client.write(response)
        }
        note(head, message.status, since: start)
        try await client.write(.head(message))
        do {
            for try await chunk in response.chunks { try await client.write(chunk) }
            let trailers = try await response.finalResponse().trailers
            let passed = TrailerFields.passed(trailers, behind: response.response.headers)
            try await client.write(.end(trailers: passed))
        } catch {
            // Less than the whole body must not look like the whole.
            try? await client.write(.cut)
            throw error
        }
    }

    /// Sends the request to the origin, and passes on the informational heads before its response.
    private func send(
        _ head: RequestHead, _ body: ClientBody?, _ client: ResponseWriter
    ) async throws -> StreamResponse {
        let heads = InformationalHeads()
        let passesTrailers = origin.passesTrailers(of: head)
        var request = PassedRequest(head, to: origin, passesTrailers: passesTrailers).request
        request.informationalHeads = heads
        if var body {
            if head.expectsContinue {
                body.whenRead = { try await client.write(.informational(HTTPResponse(status: .continue))) }
            }
            var length: Int64?
            if case .length(let count) = head.framing { length = count }
            request.body = .stream(body, length: length)
            if passesTrailers {
                request.trailers = { [body] in TrailerFields.passed(body.trailers.fields, behind: head.fields) }
            }
        }
        async let passed: Void = pass(heads, client)
        do {
            let response = try await session.stream(request)
            heads.finish()
            try await passed
            return response
        } catch {
            heads.finish()
            try? await passed
            throw error
        }
    }

    private func pass(_ heads: InformationalHeads, _ client: ResponseWriter) async throws {
        for await head in heads {
            try await client.write(.informational(PassedResponse.informational(head)))
        }
    }
}

extension RequestHead {
    /// The method and the target, in which secret items of the query are REDACTED.
    fileprivate var logText: String {
        let text = Request(target.text, method: method).description
        return String(text.dropFirst("Request(".count).dropLast())
    }
}
