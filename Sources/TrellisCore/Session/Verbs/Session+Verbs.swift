private import CurlEngine
public import FoundationEssentials
public import HTTPTypes

/// Verbs that send a request at once, in the caller's task. Any status is a response, not an error.
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
        try await dataAndResponse(
            request.asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
        )
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
        try await dataAndResponse(
            RequestWithBody(body: body, request: request).asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
        )
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

    /// Sends a form, streamed from its parts, and collects the response in memory.
    ///
    /// - Parameters:
    ///   - form: The form.
    ///   - request: The request. Its method becomes `POST` if it is `GET`.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The decoded body of the response, empty if there is none, and the response, whatever its status is.
    /// - Throws: ``TrellisError``, of kind ``TrellisError/Kind/file`` before anything is sent if a part's file is missing,
    ///   unreadable or a directory; `CancellationError` in a cancelled task, whose request ends at once.
    public func upload(
        multipart form: MultipartFormData, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) {
        try await upload(
            .multipart(form), to: request, query: query, headers: headers, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Sends a form that a closure builds, streamed from its parts, and collects the response in memory.
    ///
    /// ```swift
    /// let (data, response) = try await session.upload(to: "https://example.com/pictures") { form in
    ///     form.append("Ann", withName: "author")
    ///     form.append(fileAt: "/tmp/rose.jpg", withName: "picture")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request. Its method becomes `POST` if it is `GET`.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    ///   - build: Adds the parts to the form.
    /// - Returns: The decoded body of the response, empty if there is none, and the response, whatever its status is.
    /// - Throws: As ``upload(multipart:to:query:headers:timeout:timeouts:interceptor:)-(_,_,_,HTTPFields,_,_,_)``; the error
    ///   that `build` throws.
    public func upload(
        to request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil, multipart build: (inout MultipartFormData) throws -> Void
    ) async throws -> (Data, Response) {
        var form = MultipartFormData()
        try build(&form)
        return try await upload(
            .multipart(form), to: request, query: query, headers: headers, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }
}

/// Verbs that send a request and read the response as a value, or as a value with the head. They check status and content type first: see
/// <doc:Responses>.
extension Session {
    /// Sends a request and decodes its response.
    ///
    /// ```swift
    /// let user = try await session.decode(User.self, from: "https://api.example.com/users/1")
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of the value. An ``EmptyResponse``, such as an optional, may be made of an empty body.
    ///   - request: The request.
    ///   - decoder: The decoder of the body; a `JSONDecoder` unless given.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The value. For the head too, use
    ///   ``response(_:from:decoder:query:headers:timeout:timeouts:interceptor:)-(_,_,_,_,HTTPFields,_,_,_)``.
    /// - Throws: As ``DataRequest/serialize(with:)``.
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, decoder: some DataDecoder = .json,
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> Value {
        try await read(
            request.asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor),
            Reading(serializer: DecodableResponseSerializer(type, decoder: decoder), validation: Validation())
        ) { try await $0.value(of: $1) }
    }

    /// Sends a request and decodes its response, or throws it as the server's own error type if the status is not accepted.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - request: The request.
    ///   - errorType: The type of the body with a status that is not accepted: a type of yours, or ``ProblemDetails``.
    ///   - decoder: The decoder of both; a `JSONDecoder` unless given.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The value.
    /// - Throws: As ``DataRequest/decode(_:orError:decoder:)``.
    public func decode<Value: Decodable & Sendable, Failure: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, orError errorType: Failure.Type,
        decoder: some DataDecoder = .json, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> Value {
        try await read(
            request.asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor),
            Reading(type, orError: errorType, decoder, validation: Validation())
        ) { try await $0.value(of: $1) }
    }

    /// Sends a request and reads its response as text.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - encoding: The encoding; unless given, the one that ``StringResponseSerializer`` finds.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The text, empty if there is no body.
    /// - Throws: As ``DataRequest/serialize(with:)``.
    public func string(
        _ request: some RequestConvertible, encoding: String.Encoding? = nil,
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> String {
        try await read(
            request.asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor),
            Reading(serializer: StringResponseSerializer(encoding: encoding), validation: Validation())
        ) { try await $0.value(of: $1) }
    }

    /// Sends a request, decodes its response, and returns the value with the request, the head and the bytes.
    ///
    /// ```swift
    /// let page = try await session.response([User].self, from: "https://api.example.com/users")
    /// print(page.value.count, page.headers["X-Total-Count"] ?? "?")
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of the value. An ``EmptyResponse``, such as an optional, may be made of an empty body.
    ///   - request: The request.
    ///   - decoder: The decoder of the body; a `JSONDecoder` unless given.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The value, with the response's head, its body and its metrics.
    /// - Throws: As ``DataRequest/serialize(with:)``.
    public func response<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, decoder: some DataDecoder = .json,
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> DataResponse<Value> {
        try await read(
            request.asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor),
            Reading(serializer: DecodableResponseSerializer(type, decoder: decoder), validation: Validation())
        ) { try await $0.dataResponse(of: $1) }
    }

    /// Sends a request, decodes its response, and returns the value with the head, or throws the body as the server's own error type if
    /// the status is not accepted.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - request: The request.
    ///   - errorType: The type of the body with a status that is not accepted: a type of yours, or ``ProblemDetails``.
    ///   - decoder: The decoder of both; a `JSONDecoder` unless given.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The value, with the response's head, its body and its metrics.
    /// - Throws: As ``DataRequest/decode(_:orError:decoder:)``.
    public func response<Value: Decodable & Sendable, Failure: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, orError errorType: Failure.Type,
        decoder: some DataDecoder = .json, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> DataResponse<Value> {
        try await read(
            request.asRequest().adjusted(
                query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor),
            Reading(type, orError: errorType, decoder, validation: Validation())
        ) { try await $0.dataResponse(of: $1) }
    }

    /// Returns the pages of a list, each decoded, whose responses link to the next one (`Link` with `rel="next"`, RFC 8288).
    ///
    /// ```swift
    /// for try await users in session.pages(of: [User].self, from: "https://api.example.com/users") {
    ///     print(users.count)
    /// }
    /// ```
    ///
    /// A page is requested when the loop asks for it; leaving the loop requests no further one. Every page has the method, the fields, the
    /// limits and the steps of the first request, and its status and content type are checked.
    ///
    /// A link to another origin gets no credentials, as with a redirect. Fields such as `Authorization` and `Cookie`, default query items
    /// and the additions of adapters are left out, there and on later pages.
    ///
    /// For the head of each page, use ``Response/links`` and
    /// ``response(_:from:decoder:query:headers:timeout:timeouts:interceptor:)-(_,_,_,_,HTTPFields,_,_,_)``.
    ///
    /// - Parameters:
    ///   - type: The type of a page.
    ///   - request: The request of the first page.
    ///   - decoder: The decoder of the bodies; a `JSONDecoder` unless given.
    ///   - maximumPages: The limit on the pages, as a guard against a server that never ends; 1,000 unless given. A further page is an
    ///     error of kind ``TrellisError/Kind/other``. To read fewer, leave the loop.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the call for each page, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits, for each page; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The pages. Each loop over the sequence begins with the first page.
    public func pages<Value: Decodable & Sendable>(
        of type: Value.Type, from request: some RequestConvertible, decoder: some DataDecoder = .json,
        maximumPages: Int = 1_000, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> PageSequence<Value> {
        PageSequence(
            session: self,
            first: Result {
                try request.asRequest().adjusted(
                    query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
            },
            maximumPages: maximumPages
        ) { [self] in try await response(type, from: $0, decoder: decoder) }
    }

    /// Makes a value of each element, a number of elements at a time, and returns the values in the order of the elements.
    ///
    /// ```swift
    /// let users = try await session.map(urls, concurrency: 8) { session, url in
    ///     try await session.decode(User.self, from: url)
    /// }
    /// ```
    ///
    /// The elements are taken one after the other, each when an earlier one is done, so that a lazy sequence may be long. The first error
    /// cancels the elements under way, and no other begins; to keep the values of the others, let `transform` return a `Result`. To limit
    /// the requests of a whole session, set ``ConnectionLimits/requestsPerOrigin``.
    ///
    /// - Parameters:
    ///   - elements: The elements, such as URLs or requests.
    ///   - concurrency: The maximum number of elements at a time; 8 unless given. A value less than 1 is taken as 1.
    ///   - transform: Makes a value of an element, in a child task.
    /// - Returns: The values, in the order of the elements.
    /// - Throws: The first error that `transform` throws; `CancellationError` in a cancelled task.
    public func map<Elements: Sequence, Value: Sendable>(
        _ elements: Elements, concurrency: Int = 8,
        _ transform: @escaping @Sendable (_ session: Session, _ element: Elements.Element) async throws -> Value
    ) async throws -> [Value] where Elements.Element: Sendable {
        try await withThrowingTaskGroup(of: (index: Int, value: Value).self) { group in
            var (remaining, count) = (elements.makeIterator(), 0)
            var values: [Int: Value] = [:]

            while count < max(concurrency, 1), let element = remaining.next() {
                group.addTask { [count] in (count, try await transform(self, element)) }
                count += 1
            }
            while let (index, value) = try await group.next() {
                values[index] = value
                guard let element = remaining.next() else { continue }
                try Task.checkCancellation()
                group.addTask { [count] in (count, try await transform(self, element)) }
                count += 1
            }
            return (0..<count).compactMap { values[$0] }
        }
    }

    /// Sends a request, and reads its response on the cooperative pool.
    func read<Serializer, Value: Sendable>(
        _ request: Request, _ reading: Reading<Serializer>,
        with body: @escaping @Sendable (Reading<Serializer>, Answer) async throws -> Value
    ) async throws -> Value {
        try await readOnPool({ try await answer(request, reading.conditions) }) { try await body(reading, $0) }
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

/// The verbs with their fields by text or as a list: `headers: ["X-Trace": "1"]`, see ``HeaderLiteral``. Everything else is as in the
/// method of the same name that takes `HTTPFields`.
extension Session {
    /// Sends a request and collects the response in memory.
    ///
    /// - Throws: As ``data(_:query:headers:timeout:timeouts:interceptor:)-(_,_,HTTPFields,_,_,_)``.
    @_disfavoredOverload
    public func data(
        _ request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) {
        try await dataAndResponse(
            request.asRequest().adjusted(
                query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
        )
    }

    /// Sends a request and decodes its response.
    ///
    /// - Throws: As ``DataRequest/serialize(with:)``.
    @_disfavoredOverload
    public func decode<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, decoder: some DataDecoder = .json,
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> Value {
        try await decode(
            type, from: request, decoder: decoder, query: query, headers: headers.fields, timeout: timeout,
            timeouts: timeouts, interceptor: interceptor)
    }

    /// Sends a request and decodes its response, or throws it as the server's own error type if the status is not accepted.
    ///
    /// - Throws: As ``DataRequest/decode(_:orError:decoder:)``.
    @_disfavoredOverload
    public func decode<Value: Decodable & Sendable, Failure: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, orError errorType: Failure.Type,
        decoder: some DataDecoder = .json, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> Value {
        try await decode(
            type, from: request, orError: errorType, decoder: decoder, query: query, headers: headers.fields,
            timeout: timeout, timeouts: timeouts, interceptor: interceptor)
    }

    /// Sends a request, decodes its response, and returns the value with the head.
    ///
    /// - Throws: As ``DataRequest/serialize(with:)``.
    @_disfavoredOverload
    public func response<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, decoder: some DataDecoder = .json,
        query: KeyValuePairs<String, String> = [:], headers: HeaderLiteral, timeout: Duration? = nil,
        timeouts: Timeouts? = nil, interceptor: (any RequestInterceptor)? = nil
    ) async throws -> DataResponse<Value> {
        try await response(
            type, from: request, decoder: decoder, query: query, headers: headers.fields, timeout: timeout,
            timeouts: timeouts, interceptor: interceptor)
    }

    /// Sends a request, decodes its response, and returns the value with the head, or throws the body as the server's own error type if
    /// the status is not accepted.
    ///
    /// - Throws: As ``DataRequest/decode(_:orError:decoder:)``.
    @_disfavoredOverload
    public func response<Value: Decodable & Sendable, Failure: Decodable & Sendable>(
        _ type: Value.Type = Value.self, from request: some RequestConvertible, orError errorType: Failure.Type,
        decoder: some DataDecoder = .json, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> DataResponse<Value> {
        try await response(
            type, from: request, orError: errorType, decoder: decoder, query: query, headers: headers.fields,
            timeout: timeout, timeouts: timeouts, interceptor: interceptor)
    }

    /// Sends a request and reads its response as text.
    ///
    /// - Throws: As ``DataRequest/serialize(with:)``.
    @_disfavoredOverload
    public func string(
        _ request: some RequestConvertible, encoding: String.Encoding? = nil,
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> String {
        try await string(
            request, encoding: encoding, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Sends a request and waits until the head of the response has been received.
    ///
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task.
    @_disfavoredOverload
    public func stream(
        _ request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> StreamResponse {
        try await open(
            request.asRequest().adjusted(
                query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts, interceptor: interceptor))
    }

    /// Sends a request and passes the head and the body of its response to `handle`.
    ///
    /// - Throws: An error that `handle` throws; ``TrellisError``; `CancellationError` in a cancelled task.
    @_disfavoredOverload
    public func withResponse<Value>(
        to request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil, _ handle: (Response, ResponseBody) async throws -> Value
    ) async throws -> Value {
        try await withResponse(
            to: request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor, handle)
    }

    /// Returns the pages of a list, each decoded.
    @_disfavoredOverload
    public func pages<Value: Decodable & Sendable>(
        of type: Value.Type, from request: some RequestConvertible, decoder: some DataDecoder = .json,
        maximumPages: Int = 1_000, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> PageSequence<Value> {
        pages(
            of: type, from: request, decoder: decoder, maximumPages: maximumPages, query: query,
            headers: headers.fields, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
    }

    /// Sends a request with a body, and collects the response in memory.
    ///
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, whose request ends at once.
    @_disfavoredOverload
    public func upload(
        _ body: RequestBody, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) {
        try await upload(
            body, to: request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Sends a request with bytes in memory as its body, and collects the response in memory.
    ///
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, whose request ends at once.
    @_disfavoredOverload
    public func upload(
        _ data: Data, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) {
        try await upload(
            .data(data), to: request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Sends a request with a file as its body, and collects the response in memory.
    ///
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, whose request ends at once.
    @_disfavoredOverload
    public func upload(
        fileAt path: some FilePathConvertible, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) {
        try await upload(
            .file(path), to: request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Sends a request with chunks from an asynchronous sequence as its body, and collects the response in memory.
    ///
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, whose request ends at once.
    @_disfavoredOverload
    public func upload<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64? = nil, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) where Chunks.Element: DataProtocol {
        try await upload(
            .stream(chunks, length: length), to: request, query: query, headers: headers.fields, timeout: timeout,
            timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Sends a request with a form as its body, and collects the response in memory.
    ///
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, whose request ends at once.
    @_disfavoredOverload
    public func upload(
        multipart form: MultipartFormData, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> (Data, Response) {
        try await upload(
            .multipart(form), to: request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Sends a form that a closure builds, and collects the response in memory.
    ///
    /// - Throws: ``TrellisError``; the error that `build` throws; `CancellationError` in a cancelled task, whose request ends at once.
    @_disfavoredOverload
    public func upload(
        to request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil, multipart build: (inout MultipartFormData) throws -> Void
    ) async throws -> (Data, Response) {
        try await upload(
            to: request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor, multipart: build)
    }
}

/// Connections that are made before the requests that use them.
extension Session {
    /// Opens connections to the server of a request, which is not sent: later requests wait neither for TCP nor for TLS.
    ///
    /// ```swift
    /// try await session.connect(to: "http://api.internal:8080", count: 4)
    /// ```
    ///
    /// Opens as many connections as are missing for `count`, where those in use count, and returns when the new ones are idle. An idle
    /// connection is closed after ``ConnectionLimits/idleLifetime``; ``SessionConfiguration/keptConnections`` keeps some open. Proxies,
    /// names, rules of TLS and limits of time apply as to the request. No step runs, and no event monitor is told. A transport that makes
    /// no connections, such as a mock, is not asked.
    ///
    /// If the server agrees on HTTP/2, one connection is opened, which carries many requests. Connections for HTTP/3, which libcurl
    /// makes, cannot be opened in advance (``TrellisError/Kind/unsupported``).
    ///
    /// - Parameters:
    ///   - request: The request, or the URL of the origin, whose path does not matter.
    ///   - count: The number of connections, 1 unless given; at most ``ConnectionLimits/perOrigin`` and ``ConnectionLimits/total``.
    /// - Throws: ``TrellisError`` of the first connection that fails, while the others stay; `CancellationError` in a cancelled task.
    public func connect(to request: some RequestConvertible, count: Int = 1) async throws {
        let count = configuration.limits.allowed(count)
        guard count > 0, preparation.makesConnections else { return }
        let request = try request.asRequest().connecting(upTo: count)
        let queue = preparation.queue(of: request)
        // The idle ones count on one engine. Nothing waits for a request that has a connection, and may keep it for long.
        let engine = engines.engine(for: queue)
        let missing = count - (queue.map(engines.admission.connectionsInUse(of:)) ?? 0)
        guard missing > 0 else { return }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<missing {
                group.addTask { try await self.connect(request, on: engine) }
            }
            try await group.waitForAll()
        }
    }

    private func connect(_ request: Request, on engine: SessionEngine) async throws {
        let call = Call(
            request, delivery: .memory, start: clock.now(),
            limit: preparation.limits(of: request, delivery: .memory).total, engine: engine.executor, clock: clock,
            sender: self)
        _ = try await RequestActor(call, session: self, engine: engine, steps: AttachedSteps(Steps())).run()
    }
}

extension Request {
    /// Returns a request that is not sent: up to a number of connections, one is made.
    fileprivate func connecting(upTo count: Int) -> Request {
        var request = self
        (request.method, request.body) = (.get, nil)
        request.changeExtras { $0.connectionCount = count }
        return request
    }
}
