import CurlEngine
public import FoundationEssentials
public import HTTPTypes

extension Session {
    /// Sends a form, streamed from its parts, and collects the response in memory.
    ///
    /// - Parameters:
    ///   - form: The form.
    ///   - request: The request. Its method becomes `POST` if it is `GET`.
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

    /// Sends a form that a closure builds. Everything else is as in ``upload(multipart:to:query:headers:timeout:timeouts:interceptor:)``.
    ///
    /// ```swift
    /// let (data, response) = try await session.upload(to: "https://example.com/pictures") { form in
    ///     form.append("Ann", withName: "author")
    ///     form.append(fileAt: "/tmp/rose.jpg", withName: "picture")
    /// }
    /// ```
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
