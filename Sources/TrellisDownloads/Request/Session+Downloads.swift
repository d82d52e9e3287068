import CurlEngine
public import HTTPTypes
public import TrellisCore

/// The arguments of a download.
struct DownloadCall: Sendable {
    let request: Request
    let destination: DownloadDestination
    let checksum: Checksum?
    let options: DownloadOptions
    let resumeData: ResumeData?
}

extension Session {
    /// Downloads to a file, and returns the file when it is complete, at its destination and checked.
    ///
    /// ```swift
    /// let file = try await session.download("https://example.com/big.iso", to: .directory("/srv/images"))
    /// ```
    ///
    /// An interrupted download resumes by itself. Unless the request has ``Request/timeouts`` of its own, a download has no limit
    /// in total; ``Timeouts/idle`` holds in any case. For progress, suspension and resume data see
    /// ``downloadRequest(_:to:checksum:options:query:headers:timeout:timeouts:interceptor:)-(_,_,_,_,_,HTTPFields,_,_,_)``.
    ///
    /// - Parameters:
    ///   - request: The request. Only a plain `GET` can be resumed after an interruption.
    ///   - destination: The destination of the file; a temporary file unless given.
    ///   - checksum: The digest that the file has to have.
    ///   - options: The options of the download.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, after its download has ended.
    public func download(
        _ request: some RequestConvertible, to destination: DownloadDestination = .temporary,
        checksum: Checksum? = nil, options: DownloadOptions = DownloadOptions(),
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> DownloadedFile {
        try await downloadRequest(
            request, to: destination, checksum: checksum, options: options, query: query, headers: headers,
            timeout: timeout, timeouts: timeouts,
            interceptor: interceptor
        ).value
    }

    /// Returns a handle on a download to a file, which has not started yet: see ``DownloadRequest``.
    ///
    /// ```swift
    /// let download = session.downloadRequest("https://example.com/big.iso", to: .directory("/srv/images"))
    /// Task { for await progress in download.progress { print(progress.fraction ?? 0) } }
    /// let file = try await download.value
    /// ```
    ///
    /// An interrupted download resumes by itself. Unless the request has ``Request/timeouts`` of its own, a download has no limit
    /// in total; ``Timeouts/idle`` holds in any case.
    ///
    /// - Parameters:
    ///   - request: The request. Only a plain `GET` can be resumed after an interruption.
    ///   - destination: The destination of the file; a temporary file unless given.
    ///   - checksum: The digest that the file has to have.
    ///   - options: The options of the download.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    public func downloadRequest(
        _ request: some RequestConvertible, to destination: DownloadDestination = .temporary,
        checksum: Checksum? = nil, options: DownloadOptions = DownloadOptions(),
        query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> DownloadRequest {
        handle(
            {
                try request.asRequest().adjusted(
                    query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
            }, to: destination, checksum: checksum,
            options: options, resuming: nil)
    }

    /// Downloads to a file, with fields by text or as a list: see ``HeaderLiteral``. Everything else is as in
    /// ``download(_:to:checksum:options:query:headers:timeout:timeouts:interceptor:)-(_,_,_,_,_,HTTPFields,_,_,_)``.
    ///
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task, after its download has ended.
    @_disfavoredOverload
    public func download(
        _ request: some RequestConvertible, to destination: DownloadDestination = .temporary,
        checksum: Checksum? = nil, options: DownloadOptions = DownloadOptions(),
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> DownloadedFile {
        try await download(
            request, to: destination, checksum: checksum, options: options, query: query, headers: headers.fields,
            timeout: timeout, timeouts: timeouts, interceptor: interceptor)
    }

    /// Returns a handle on a download, with fields by text or as a list: see ``HeaderLiteral``. Everything else is as in
    /// ``downloadRequest(_:to:checksum:options:query:headers:timeout:timeouts:interceptor:)-(_,_,_,_,_,HTTPFields,_,_,_)``.
    @_disfavoredOverload
    public func downloadRequest(
        _ request: some RequestConvertible, to destination: DownloadDestination = .temporary,
        checksum: Checksum? = nil, options: DownloadOptions = DownloadOptions(),
        query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> DownloadRequest {
        downloadRequest(
            request, to: destination, checksum: checksum, options: options, query: query, headers: headers.fields,
            timeout: timeout, timeouts: timeouts, interceptor: interceptor)
    }

    /// Returns a handle on a download that continues at the point at which another one ended.
    ///
    /// If the partial file does not exist any more, or the server has another file, the download begins again.
    ///
    /// - Parameters:
    ///   - resumeData: The resume data of the other download: ``DownloadRequest/resumeData``.
    ///   - request: The request, of the same URL; a plain `GET` of that URL unless given.
    ///   - destination: The destination of the file; a temporary file unless given.
    ///   - checksum: The digest that the file has to have.
    ///   - options: The options of the download.
    ///   - query: Items that are added to the query of the URL, percent-encoded and in this order; none unless given.
    ///   - headers: Fields that replace the request's fields of the same name; none unless given.
    ///   - timeout: The limit on the whole call, ``Timeouts/total``; if `nil`, the one of `timeouts`, the request or the session.
    ///   - timeouts: Time limits that replace the request's limits of the same name; none unless given.
    ///   - interceptor: An interceptor that runs after the session's and the request's; none unless given.
    public func downloadRequest(
        resuming resumeData: ResumeData, _ request: (any RequestConvertible)? = nil,
        to destination: DownloadDestination = .temporary, checksum: Checksum? = nil,
        options: DownloadOptions = DownloadOptions(), query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> DownloadRequest {
        let base: any RequestConvertible = request ?? resumeData.url
        return handle(
            {
                try base.asRequest().adjusted(
                    query: query, headers: headers, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
            }, to: destination, checksum: checksum,
            options: options,
            resuming: resumeData)
    }

    /// Returns a handle on a download that continues at the point at which another one ended, with fields by text or as a list: see
    /// ``HeaderLiteral``. Everything else is as in the method of the same name that takes `HTTPFields`.
    @_disfavoredOverload
    public func downloadRequest(
        resuming resumeData: ResumeData, _ request: (any RequestConvertible)? = nil,
        to destination: DownloadDestination = .temporary, checksum: Checksum? = nil,
        options: DownloadOptions = DownloadOptions(), query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, timeout: Duration? = nil, timeouts: Timeouts? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) -> DownloadRequest {
        downloadRequest(
            resuming: resumeData, request, to: destination, checksum: checksum, options: options, query: query,
            headers: headers.fields, timeout: timeout, timeouts: timeouts, interceptor: interceptor)
    }

    private func handle(
        _ make: () throws -> Request, to destination: DownloadDestination, checksum: Checksum?,
        options: DownloadOptions, resuming resumeData: ResumeData?
    ) -> DownloadRequest {
        // Converted at once: later changes of the caller's value do not change the request.
        let request = Result { try make() }
        let transportOverride = TransportOverride.current
        let run = DownloadTask(clock: clock, folder: destination.folder) { [self] run in
            let call = DownloadCall(
                request: try request.get(), destination: destination, checksum: checksum, options: options,
                resumeData: resumeData)
            var operation = try DownloadOperation(call, session: self, run: run)
            run.watch(operation.deadline)
            return try await perform(run) {
                try await TransportOverride.with(transportOverride) { try await operation.download() }
            }
        }
        return DownloadRequest(DownloadOwner(run, request, session: self))
    }
}
