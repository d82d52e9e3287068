public import FoundationEssentials
public import HTTPTypes

extension Session {
    /// Sends a request and collects the answer in memory.
    ///
    /// The `headers`, `timeouts` and `interceptor` that are given are added to the request: fields replace those of the same name, time
    /// limits those that they name, and the interceptor runs behind the session's.
    ///
    /// Any status is a response, not an error. The decoded body is limited by ``Request/maximumBodySize`` or
    /// ``SessionConfiguration/maximumBodySize``.
    ///
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, whose request ends at once.
    public func data(
        _ request: some RequestConvertible, headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) {
        try await answer(request.adjusted(headers, timeouts, interceptor)).pair
    }

    /// Sends a request and collects the body of the response in memory: ``data(_:headers:timeouts:interceptor:)`` without the response.
    ///
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, whose request ends at once.
    public func bytes(
        _ request: some RequestConvertible, headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> Data {
        try await answer(request.adjusted(headers, timeouts, interceptor)).pair.0
    }

    /// Sends a request and returns when the head of the answer has come; the body follows at the pace of its reader.
    ///
    /// Dropping the result, or leaving the loop over its body, ends the transfer.
    ///
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task.
    public func stream(
        _ request: some RequestConvertible, headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> StreamResponse {
        try await open(request.adjusted(headers, timeouts, interceptor))
    }

    /// Sends a request with a body and collects the answer in memory.
    ///
    /// - Parameters:
    ///   - body: The body: bytes, a file, or an asynchronous sequence of chunks.
    ///   - request: The request. Its method becomes `POST` if it is `GET`.
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, whose request ends at once.
    public func upload(
        _ body: RequestBody, to request: some RequestConvertible, headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) {
        try await answer(BodyAdded(body: body, request: request).adjusted(headers, timeouts, interceptor)).pair
    }

    /// As ``upload(_:to:)-(RequestBody,_)``, with bytes in memory.
    public func upload(
        _ data: Data, to request: some RequestConvertible, headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) {
        try await upload(.data(data), to: request, headers: headers, timeouts: timeouts, interceptor: interceptor)
    }

    /// As ``upload(_:to:)-(RequestBody,_)``, with a file.
    public func upload(
        fileAt path: some FilePathConvertible, to request: some RequestConvertible, headers: HTTPFields = [:],
        timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) {
        try await upload(.file(path), to: request, headers: headers, timeouts: timeouts, interceptor: interceptor)
    }

    /// As ``upload(_:to:)-(RequestBody,_)``, with chunks from an asynchronous sequence.
    ///
    /// - Parameter length: The number of bytes, where it is known.
    public func upload<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64? = nil, to request: some RequestConvertible, headers: HTTPFields = [:],
        timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) where Chunks.Element: DataProtocol {
        try await upload(
            .stream(chunks, length: length), to: request, headers: headers, timeouts: timeouts, interceptor: interceptor
        )
    }

    /// Sends a request and hands head and body to `handle`; the transfer has ended when this returns, whatever happens.
    ///
    /// - Throws: What `handle` throws; ``TrellisError``; `CancellationError` in a cancelled task.
    public func withResponse<Value>(
        to request: some RequestConvertible, _ handle: (Response, ResponseBody) async throws -> Value
    ) async throws -> Value {
        let response = try await open(request)
        defer { response.cancel() }
        return try await handle(response.response, response.chunks)
    }

    /// A handle on a request that has not started yet: it starts when its response is asked for, or with
    /// ``DataRequest/resume()``, and can be suspended and cancelled from anywhere.
    public func request(
        _ request: some RequestConvertible, headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> DataRequest {
        DataRequest(Result { try deferredRequest(request.adjusted(headers, timeouts, interceptor)) }, session: self)
    }

    /// A handle on a request whose response is read as a stream. Nothing is sent before its ``StreamRequest/response`` is asked for
    /// or ``StreamRequest/resume()`` is called.
    public func streamRequest(
        _ request: some RequestConvertible, headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> StreamRequest {
        let request = request.adjusted(headers, timeouts, interceptor)
        return StreamRequest(
            RequestOwner(Result { try deferredRequest(request, delivery: .stream) }, session: self))
    }
}
