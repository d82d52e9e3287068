public import FoundationEssentials
public import HTTPTypes

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

/// A request with a body that a verb adds.
struct RequestWithBody<Base: RequestConvertible>: RequestConvertible {
    let body: RequestBody
    let request: Base

    func asRequest() throws -> Request {
        var request = try request.asRequest()
        request.body = body
        request.isUpload = true
        if request.method == .get { request.method = .post }
        return request
    }
}
