import CurlEngine
public import FoundationEssentials
public import HTTPTypes

extension Session {
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

extension MultipartFormData {
    /// Returns the size of the form in bytes when it is sent; `nil` if a stream's length is not known. Asks for the sizes of the
    /// files at once, which may wait for a disk.
    ///
    /// - Throws: ``TrellisError``, of kind ``TrellisError/Kind/file`` if a part's file is missing, unreadable or a directory.
    public func contentLength() throws(TrellisError) -> Int64? { try PieceChunks(pieces()).length }

    /// Returns the complete form in memory, for tests and for small forms that are not sent in a request.
    ///
    /// - Throws: ``TrellisError``; an error that a stream throws.
    public func encode() async throws -> Data {
        try await RequestBody.multipart(self).collected(upTo: .max)
    }
}
