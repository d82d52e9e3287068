import CurlEngine

/// What is asked of a download.
struct DownloadCall: Sendable {
    let request: Request
    let destination: DownloadDestination
    let checksum: Checksum?
    let options: DownloadOptions
    let resumeData: ResumeData?
}

extension Session {
    /// A handle on a download to a file, which has not started yet: see ``DownloadRequest``.
    ///
    /// ```swift
    /// let file = try await session.download("https://example.com/big.iso", to: .directory("/srv/images")).value
    /// ```
    ///
    /// Interruptions are gone on with by themselves. Unless the request has ``Request/timeouts`` of its own, a download has no
    /// limit in total; ``Timeouts/idle`` holds in any case.
    ///
    /// - Parameters:
    ///   - request: The request. Only a plain `GET` can be gone on with after an interruption.
    ///   - destination: Where the file goes; a temporary file unless given.
    ///   - checksum: What digest the file is to have.
    ///   - options: How it is done.
    public func download(
        _ request: some RequestConvertible, to destination: DownloadDestination = .temporary,
        checksum: Checksum? = nil, options: DownloadOptions = DownloadOptions()
    ) -> DownloadRequest {
        download(request, destination, checksum, options, nil)
    }

    /// A handle on a download that goes on where another one ended.
    ///
    /// Where the partial file is not there any more, or the server has another file by now, the download begins anew.
    ///
    /// - Parameters:
    ///   - resumeData: What the other one left: ``DownloadRequest/resumeData``.
    ///   - request: The request, of the same URL; a plain `GET` of it unless given.
    ///   - destination: Where the file goes; a temporary file unless given.
    ///   - checksum: What digest the file is to have.
    ///   - options: How it is done.
    public func download(
        resuming resumeData: ResumeData, _ request: (any RequestConvertible)? = nil,
        to destination: DownloadDestination = .temporary, checksum: Checksum? = nil,
        options: DownloadOptions = DownloadOptions()
    ) -> DownloadRequest {
        guard let request else { return download(resumeData.url, destination, checksum, options, resumeData) }
        return download(request, destination, checksum, options, resumeData)
    }

    private func download(
        _ convertible: some RequestConvertible, _ destination: DownloadDestination, _ checksum: Checksum?,
        _ options: DownloadOptions, _ resumeData: ResumeData?
    ) -> DownloadRequest {
        // Converted now: what is asked for is what it was when it was asked for.
        let request = Result { try convertible.asRequest() }
        let run = DownloadRun(clock: clock) { [self] run in
            let call = DownloadCall(
                request: try request.get(), destination: destination, checksum: checksum, options: options,
                resumeData: resumeData)
            var journey = try DownloadJourney(call, session: self, run: run)
            guard await actor.begin(run) else { throw TrellisError(.cancelled(.sessionShutDown)) }
            defer { actor.enter { $0.didEnd(run) } }
            return try await journey.download()
        }
        return DownloadRequest(DownloadOwner(run))
    }
}
