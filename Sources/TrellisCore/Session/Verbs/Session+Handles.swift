public import FoundationEssentials
public import HTTPTypes

/// Handles on requests that have not started yet. Nothing is sent before the response or a value of the progress is asked for, or
/// ``DataRequest/resume()`` is called. An error of the request's conversion is thrown when the response is asked for.
extension Session {
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

/// Handles on requests from their parts. For other verbs, make the same request as a value:
/// `session.stream(try Request(url).withParameters(search))`.
extension Session {
    /// Returns a handle on a request without parameters.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - method: The method, any token.
    ///   - query: The items that are added to the query of the URL, percent-encoded and in this order.
    ///   - headers: The fields.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    ///   - modifier: Changes the request before it is sent.
    public func request(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            ParameterizedRequest(
                url: url, method: method, query: query, headers: headers, modifier: modifier, encode: nil),
            timeout: timeout, timeouts: timeouts, interceptor: interceptor)
    }

    /// Returns a handle on a request with parameters in its query or its body.
    ///
    /// ```swift
    /// session.request(url, method: .post, parameters: newUser, encoder: .json)
    /// ```
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - method: The method, any token.
    ///   - parameters: The parameters; `nil` if there are none.
    ///   - encoder: The encoder that puts the parameters into the request; unless given, as a form, by the method in the query or
    ///     the body.
    ///   - headers: The fields. A `Content-Type` among them takes precedence over the encoder's.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    ///   - modifier: Changes the request before the parameters are put into it.
    public func request<Parameters: Encodable & Sendable>(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, parameters: Parameters?,
        encoder: some ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPFields = HTTPFields(),
        timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            ParameterizedRequest(url: url, method: method, headers: headers, modifier: modifier) {
                if let parameters { try encoder.encode(parameters, into: &$0) }
            }, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
    }

    /// Returns a handle on a request with a dictionary of parameters in its query or its body.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - method: The method, any token.
    ///   - parameters: The parameters; `nil` if there are none.
    ///   - encoding: The encoding that puts the parameters into the request; unless given, as a form, by the method in the query
    ///     or the body.
    ///   - headers: The fields. A `Content-Type` among them takes precedence over the encoding's.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    ///   - modifier: Changes the request before the parameters are put into it.
    public func request(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, parameters: [String: any Sendable]?,
        encoding: some ParameterEncoding = URLEncoding.default, headers: HTTPFields = HTTPFields(),
        timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            ParameterizedRequest(url: url, method: method, headers: headers, modifier: modifier) {
                if let parameters { try encoding.encode(parameters, into: &$0) }
            }, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
    }
}

/// Handles on requests with a body; `request` makes handles on requests without one. Nothing is sent before the response or a value of the
/// progress is asked for, or ``DataRequest/resume()`` is called. The verbs that send at once are named `upload`.
///
/// A retry or a redirect sends the body again if its source allows that (``RequestBody/isReplayable``); otherwise it is an error
/// of kind ``TrellisError/Kind/bodyNotReplayable``.
extension Session {
    /// Returns a handle on a request with a body.
    ///
    /// ```swift
    /// let upload = session.uploadRequest(.file("/tmp/film.mp4"), to: "https://example.com/films").validate()
    /// let film = try await upload.decode(Film.self)
    /// ```
    ///
    /// - Parameters:
    ///   - body: The body: bytes, a file, a form, or an asynchronous sequence of chunks.
    ///   - request: The request. Its method becomes `POST` if it is `GET`.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Returns: The handle. An error of the request's conversion is thrown by its readers.
    public func uploadRequest(
        _ body: RequestBody, to request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        self.request(
            RequestWithBody(body: body, request: request), query: query, headers: headers, timeout: timeout,
            timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Returns a handle on a request with bytes in memory as its body. Everything else is as in
    /// ``uploadRequest(_:to:query:headers:timeout:timeouts:interceptor:)-(RequestBody,_,_,HTTPFields,_,_,_)``.
    public func uploadRequest(
        _ data: Data, to request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        uploadRequest(
            .data(data), to: request, query: query, headers: headers, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Returns a handle on a request with a file as its body. Everything else is as in
    /// ``uploadRequest(_:to:query:headers:timeout:timeouts:interceptor:)-(RequestBody,_,_,HTTPFields,_,_,_)``.
    public func uploadRequest(
        fileAt path: some FilePathConvertible, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        uploadRequest(
            .file(path), to: request, query: query, headers: headers, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Returns a handle on a request with chunks from an asynchronous sequence, which can be sent once, as its body. Everything
    /// else is as in ``uploadRequest(_:to:query:headers:timeout:timeouts:interceptor:)-(RequestBody,_,_,HTTPFields,_,_,_)``.
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
    public func uploadRequest<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64? = nil, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest where Chunks.Element: DataProtocol {
        uploadRequest(
            .stream(chunks, length: length), to: request, query: query, headers: headers, timeout: timeout,
            timeouts: timeouts, interceptor: interceptor
        )
    }

    /// Returns a handle on a request with a form as its body. Everything else is as in
    /// ``uploadRequest(_:to:query:headers:timeout:timeouts:interceptor:)-(RequestBody,_,_,HTTPFields,_,_,_)``.
    public func uploadRequest(
        multipart form: MultipartFormData, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        uploadRequest(
            .multipart(form), to: request, query: query, headers: headers, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Returns a handle on a request with a form that a closure builds. Everything else is as in
    /// ``uploadRequest(multipart:to:query:headers:timeout:timeouts:interceptor:)-(_,_,_,HTTPFields,_,_,_)``. An error that the
    /// closure throws is thrown when the response is asked for.
    public func uploadRequest(
        to request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil, multipart build: (inout MultipartFormData) throws -> Void
    ) -> UploadRequest {
        var form = MultipartFormData()
        do {
            try build(&form)
            return uploadRequest(
                .multipart(form), to: request, query: query, headers: headers, timeout: timeout, timeouts: timeouts,
                interceptor: interceptor)
        } catch {
            return DataRequest(.failure(error), session: self)
        }
    }
}

/// The handles with their fields by text or as a list: `headers: [.accept("text/html")]`, see ``HeaderLiteral``. Everything else is as in
/// the method of the same name that takes `HTTPFields`.
extension Session {
    /// Returns a handle on a request that has not started yet.
    @_disfavoredOverload
    public func request(
        _ request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> DataRequest {
        self.request(
            request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Returns a handle on a request whose response is read as a stream.
    @_disfavoredOverload
    public func streamRequest(
        _ request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> StreamRequest {
        streamRequest(
            request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Returns a handle on a request without parameters, with a list of fields. Everything else is as in
    /// ``request(_:method:query:headers:timeout:timeouts:interceptor:modifier:)-(_,_,_,HTTPFields,_,_,_,_)``.
    @_disfavoredOverload
    public func request(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            url, method: method, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor, modifier: modifier)
    }

    /// Returns a handle on a request with parameters and a list of fields. Everything else is as in
    /// ``request(_:method:parameters:encoder:headers:timeout:timeouts:interceptor:modifier:)-(_,_,_,_,HTTPFields,_,_,_,_)``.
    @_disfavoredOverload
    public func request<Parameters: Encodable & Sendable>(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, parameters: Parameters?,
        encoder: some ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HeaderLiteral,
        timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            url, method: method, parameters: parameters, encoder: encoder, headers: headers.fields,
            timeout: timeout, timeouts: timeouts, interceptor: interceptor, modifier: modifier)
    }

    /// Returns a handle on a request with a dictionary of parameters and a list of fields. Everything else is as in
    /// ``request(_:method:parameters:encoding:headers:timeout:timeouts:interceptor:modifier:)-(_,_,_,_,HTTPFields,_,_,_,_)``.
    @_disfavoredOverload
    public func request(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, parameters: [String: any Sendable]?,
        encoding: some ParameterEncoding = URLEncoding.default, headers: HeaderLiteral, timeout: Duration? = nil,
        timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        modifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            url, method: method, parameters: parameters, encoding: encoding, headers: headers.fields,
            timeout: timeout, timeouts: timeouts, interceptor: interceptor, modifier: modifier)
    }

    /// Returns a handle on a request with a body.
    @_disfavoredOverload
    public func uploadRequest(
        _ body: RequestBody, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        uploadRequest(
            body, to: request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Returns a handle on a request with bytes in memory as its body.
    @_disfavoredOverload
    public func uploadRequest(
        _ data: Data, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        uploadRequest(
            .data(data), to: request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Returns a handle on a request with a file as its body.
    @_disfavoredOverload
    public func uploadRequest(
        fileAt path: some FilePathConvertible, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        uploadRequest(
            .file(path), to: request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Returns a handle on a request with chunks from an asynchronous sequence as its body.
    @_disfavoredOverload
    public func uploadRequest<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64? = nil, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest where Chunks.Element: DataProtocol {
        uploadRequest(
            .stream(chunks, length: length), to: request, query: query, headers: headers.fields, timeout: timeout,
            timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Returns a handle on a request with a form as its body.
    @_disfavoredOverload
    public func uploadRequest(
        multipart form: MultipartFormData, to request: some RequestConvertible,
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        uploadRequest(
            .multipart(form), to: request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor)
    }

    /// Returns a handle on a request with a form that a closure builds.
    @_disfavoredOverload
    public func uploadRequest(
        to request: some RequestConvertible, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil, multipart build: (inout MultipartFormData) throws -> Void
    ) -> UploadRequest {
        uploadRequest(
            to: request, query: query, headers: headers.fields, timeout: timeout, timeouts: timeouts,
            interceptor: interceptor, multipart: build)
    }
}
