public import FoundationEssentials
public import HTTPTypes

extension Session {
    /// Sends a request and collects the response in memory.
    ///
    /// ```swift
    /// let (data, response) = try await session.data("https://api.example.com/users")
    /// try response.validate(body: data)
    /// ```
    ///
    /// Any status is a response, not an error: see ``Response/validate(body:)``. The decoded body is limited by
    /// ``Request/maximumBodySize`` or ``SessionConfiguration/maximumBodySize``.
    ///
    /// - Parameters:
    ///   - request: The request, or its URL.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The decoded body, empty if there is none, and the response.
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, whose request ends at once.
    public func data(
        _ request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) {
        try await answer(
            request.asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
        ).pair
    }

    /// Sends a request and waits until the head of the response has been received; the body follows at the pace of its reader.
    ///
    /// ```swift
    /// for try await line in try await session.stream("https://example.com/log").validate().lines { print(line) }
    /// ```
    ///
    /// Any status is a response, not an error: see ``StreamResponse/validate()``. Releasing the result, or leaving the loop over its body,
    /// ends the transfer.
    ///
    /// - Parameters:
    ///   - request: The request, or its URL.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The response up to its head, with the body to be read.
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task.
    public func stream(
        _ request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> StreamResponse {
        try await open(
            request.asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor))
    }

    /// Sends a request with a body and collects the response in memory.
    ///
    /// Use ``data(_:query:headers:timeout:timeouts:interceptor:)-(_,_,HTTPFields,_,_,_)`` and ``Request/body`` for a `GET` with a body.
    ///
    /// - Parameters:
    ///   - body: The body: bytes, a file, or an asynchronous sequence of chunks.
    ///   - request: The request. Its method becomes `POST` if it is `GET`.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The decoded body of the response, empty if there is none, and the response, whatever its status is.
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, whose request ends at once.
    public func upload(
        _ body: RequestBody, to request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) {
        try await answer(
            RequestWithBody(body: body, request: request).asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
        ).pair
    }

    /// Sends a request with bytes in memory as its body, and collects the response in memory.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - request: The request. Its method becomes `POST` if it is `GET`.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The decoded body of the response, empty if there is none, and the response, whatever its status is.
    /// - Throws: As ``upload(_:to:query:headers:timeout:timeouts:interceptor:)-(RequestBody,_,_,HTTPFields,_,_,_)``.
    public func upload(
        _ data: Data, to request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) {
        try await upload(
            .data(data), to: request, query: query, headers: headers, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Sends a request with a file as its body, and collects the response in memory.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - request: The request. Its method becomes `POST` if it is `GET`.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The decoded body of the response, empty if there is none, and the response, whatever its status is.
    /// - Throws: As ``upload(_:to:query:headers:timeout:timeouts:interceptor:)-(RequestBody,_,_,HTTPFields,_,_,_)``, and of kind
    ///   ``TrellisError/Kind/file`` before anything is sent if the file is missing, unreadable or a directory.
    public func upload(
        fileAt path: some FilePathConvertible, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) {
        try await upload(
            .file(path), to: request, query: query, headers: headers, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Sends a request with chunks from an asynchronous sequence as its body, and collects the response in memory.
    ///
    /// - Parameters:
    ///   - chunks: The chunks, each asked for when there is room for it.
    ///   - length: The number of bytes, if it is known.
    ///   - request: The request. Its method becomes `POST` if it is `GET`.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The decoded body of the response, empty if there is none, and the response, whatever its status is.
    /// - Throws: As ``upload(_:to:query:headers:timeout:timeouts:interceptor:)-(RequestBody,_,_,HTTPFields,_,_,_)``. An error that
    ///   the sequence throws is the ``TrellisError/underlying`` one.
    public func upload<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64? = nil, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) where Chunks.Element: DataProtocol {
        try await upload(
            .stream(chunks, length: length), to: request, query: query, headers: headers, timeout: timeout,
            timeouts: timeouts, interceptor: interceptor
        )
    }

    /// Sends a request and passes the head and the body of its response to `handle`. A transfer that has not ended is
    /// cancelled when `handle` returns or throws; its connection is closed shortly after this method returns.
    ///
    /// ```swift
    /// let size = try await session.withResponse(to: url) { response, body in
    ///     try response.validate()
    ///     return try await body.reduce(0) { $0 + $1.count }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request, or its URL.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    ///   - handle: Reads the response, whatever its status is, and its body.
    /// - Returns: The value that `handle` returns.
    /// - Throws: An error that `handle` throws; ``TrellisError``; `CancellationError` in a cancelled task.
    public func withResponse<Value>(
        to request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil, _ handle: (Response, ResponseBody) async throws -> Value
    ) async throws -> Value {
        let stream = try await open(
            request.asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor))
        defer { stream.cancel() }
        return try await handle(stream.response, stream.chunks)
    }

    /// Returns a handle on a request that has not started yet. The request starts when its response or a value of its progress is asked
    /// for, or with ``DataRequest/resume()``, and can be suspended and cancelled from any thread.
    ///
    /// ```swift
    /// let user = try await session.request("https://api.example.com/users/7").validate().decode(User.self)
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request, or its URL.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The handle. An error of the request's conversion is thrown by its readers.
    public func request(
        _ request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> DataRequest {
        DataRequest(
            Result {
                try deferredRequest(
                    request.asRequest().adjusted(
                        query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor))
            }, session: self)
    }

    /// Returns a handle on a request whose response is read as a stream. Nothing is sent before its ``StreamRequest/response`` or a value
    /// of its ``StreamRequest/downloadProgress`` is asked for, or ``StreamRequest/resume()`` is called.
    ///
    /// - Parameters:
    ///   - request: The request, or its URL.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The handle. An error of the request's conversion is thrown by its readers.
    public func streamRequest(
        _ request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> StreamRequest {
        StreamRequest(
            RequestHandle(
                Result {
                    try deferredRequest(
                        request.asRequest().adjusted(
                            query: query, headers: headers, timeout: timeout, timeouts: timeouts,
                            interceptor: interceptor), delivery: .stream)
                }, session: self))
    }
}

/// The parameters that all verbs have.
extension Request {
    /// Returns the request with the query, fields, time limits and interceptor that were passed to a verb: items are added to the query,
    /// fields replace the request's fields of the same name, time limits the limits of the same name, and the interceptor runs after the
    /// session's and the request's own.
    ///
    /// - Parameter total: The limit in total; it replaces the one of `timeouts`.
    @inline(__always)
    package func adjusted(
        query: KeyValuePairs<String, String>, headers: HTTPFields, timeout total: Duration?, timeouts: Timeouts?,
        interceptor: (any RequestInterceptor)?
    ) -> Request {
        if query.isEmpty, headers.isEmpty, total == nil, timeouts == nil, interceptor == nil { return self }
        return changed(query: query, headers: headers, timeout: total, timeouts: timeouts, interceptor: interceptor)
    }

    @inline(never)
    private func changed(
        query: KeyValuePairs<String, String>, headers: HTTPFields, timeout total: Duration?, timeouts: Timeouts?,
        interceptor: (any RequestInterceptor)?
    ) -> Request {
        var request = interceptor.map(withInterceptor) ?? self
        if !query.isEmpty { request = request.addingQuery(query) }
        if let timeouts { request.timeouts = request.timeouts.map(timeouts.completed(by:)) ?? timeouts }
        if let total {
            var timeouts = request.timeouts ?? Timeouts()
            timeouts.total = total
            request.timeouts = timeouts
        }
        for field in headers { request.headers[values: field.name] = [] }
        for field in headers { request.headers.append(field) }
        return request
    }
}
