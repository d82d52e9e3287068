public import FoundationEssentials
public import HTTPTypes

/// Handles on requests with a body, as ``request(_:)-(RequestConvertible)`` makes them for those without: nothing is sent before
/// the answer is asked for or ``DataRequest/resume()`` is called. The verbs that send at once are named `upload`.
///
/// A retry or a redirect sends the body again where its source allows (``RequestBody/isReplayable``), and is an error of kind
/// ``TrellisError/Kind/bodyNotReplayable`` where it does not.
extension Session {
    /// A handle on a request with a body.
    ///
    /// ```swift
    /// let upload = session.uploadRequest(.file("/tmp/film.mp4"), to: "https://example.com/films").validate()
    /// let film = try await upload.decode(Film.self)
    /// ```
    ///
    /// - Parameters:
    ///   - body: The body: bytes, a file, a form, or an asynchronous sequence of chunks.
    ///   - request: The request. Its method becomes `POST` if it is `GET`.
    public func uploadRequest(
        _ body: RequestBody, to request: some RequestConvertible, headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        self.request(BodyAdded(body: body, request: request), headers: headers, timeouts: timeouts, interceptor: interceptor)
    }

    /// As ``uploadRequest(_:to:)-(RequestBody,_)``, with bytes in memory.
    public func uploadRequest(
        _ data: Data, to request: some RequestConvertible, headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        uploadRequest(.data(data), to: request, headers: headers, timeouts: timeouts, interceptor: interceptor)
    }

    /// As ``uploadRequest(_:to:)-(RequestBody,_)``, with a file.
    public func uploadRequest(
        fileAt path: some FilePathConvertible, to request: some RequestConvertible, headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        uploadRequest(.file(path), to: request, headers: headers, timeouts: timeouts, interceptor: interceptor)
    }

    /// As ``uploadRequest(_:to:)-(RequestBody,_)``, with chunks from an asynchronous sequence, which can be sent once.
    ///
    /// - Parameter length: The number of bytes, where it is known.
    public func uploadRequest<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64? = nil, to request: some RequestConvertible, headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest where Chunks.Element: DataProtocol {
        uploadRequest(.stream(chunks, length: length), to: request, headers: headers, timeouts: timeouts, interceptor: interceptor)
    }

    /// As ``uploadRequest(_:to:)-(RequestBody,_)``, with a form.
    public func uploadRequest(
        multipart form: MultipartFormData, to request: some RequestConvertible, headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        uploadRequest(.multipart(form), to: request, headers: headers, timeouts: timeouts, interceptor: interceptor)
    }

    /// As ``uploadRequest(multipart:to:)-(MultipartFormData,_)``, with a form that is put together on the way. What the closure
    /// throws is thrown when the answer is asked for.
    public func uploadRequest(
        to request: some RequestConvertible, headers: HTTPFields = [:], timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil, multipart build: (inout MultipartFormData) throws -> Void
    ) -> UploadRequest {
        var form = MultipartFormData()
        do {
            try build(&form)
            return uploadRequest(.multipart(form), to: request, headers: headers, timeouts: timeouts, interceptor: interceptor)
        } catch {
            return DataRequest(.failure(error), session: self)
        }
    }
}

/// A request and the body that it gets.
struct BodyAdded<Base: RequestConvertible>: RequestConvertible {
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
