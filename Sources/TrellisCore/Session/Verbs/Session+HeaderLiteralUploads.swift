public import FoundationEssentials

/// The uploads with their fields by text or as a list: `headers: ["X-Trace": "1"]`, see ``HeaderLiteral``. Everything else is as in the
/// method of the same name that takes `HTTPFields`.
extension Session {
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
