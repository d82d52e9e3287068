import CCurl
package import FoundationEssentials

/// The body of the request, on its way from the framework to the connection.
extension Transfer {
    // MARK: Calls from the framework

    /// Adds the next chunk of the body.
    package func send(_ chunk: Data) {
        guard !sending.isStopped else { return }
        sending.hasAskedForMore = false
        upload.append(chunk)
        resumeSending()
    }

    /// Adds a file as the next bytes of the body. More of the body is requested after the file was read.
    package func send(_ file: FileReader) {
        guard !sending.isStopped else { return }
        sending.hasAskedForMore = false
        upload.append(file)
        resumeSending()
    }

    /// Ends the body.
    package func finishSending() { finishSending(trailers: []) }

    /// Ends the body, and sends fields after it.
    ///
    /// - Parameter trailers: The names and values of the fields after the body, for transfers whose options say that there are some
    ///   (``TransferOptions/hasTrailers``).
    package func finishSending(trailers: [(name: String, value: [UInt8])]) {
        sending.trailerLines = trailers.map { field in
            (Array("\(field.name): ".utf8) + field.value).map { CChar(bitPattern: $0) } + [0]
        }
        upload.isFinished = true
        if reports.sending == .wanted { checkSending() }
        resumeSending()
    }

    /// Pauses or resumes sending the body.
    package func pauseSending(_ isPaused: Bool) {
        guard pauses.isSendingHeld != isPaused else { return }
        pauses.isSendingHeld = isPaused
        engine.update(self)
    }

    /// Stops sending the body, and drops its rest. The response continues, and the connection is not reused.
    package func stopSending() {
        guard isUploadUnderWay, !sending.isStopped else { return }
        sending.isStopped = true
        upload.discard()
        pauses.isSendingPaused = false
        engine.update(self)
    }

    /// Whether part of the body was not sent yet.
    var isUploadUnderWay: Bool {
        switch options.body {
        case .none: false
        case .bytes: attempts > 0 && !hasSentRequest
        case .stream: sending.isStopped || !upload.isAtEnd
        }
    }

    private func resumeSending() {
        guard !sending.isStopped else { return }
        guard pauses.isSendingPaused else {
            askForBody()
            return
        }
        pauses.isSendingPaused = false
        engine.update(self)
    }

    private func askForBody() {
        guard !sending.hasAskedForMore, upload.hasRoom else { return }
        sending.hasAskedForMore = true
        delegate?.transferNeedsBody()
    }

    /// Whether the connection has room for bytes of the body and there are none.
    package var awaitsBody: Bool {
        (pauses.isSendingPaused || upload.isWaitingForFile) && !sending.isStopped && !upload.isAtEnd
    }

    // MARK: Delivery

    /// Fills a buffer with bytes of the request body. Returns their number, or libcurl's code for a pause or an abort, over TCP too.
    func fillUpload(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard !isCancelled else { return Int(CURL_READFUNC_ABORT) }
        if isHeldBack || sending.isStopped {
            pauses.applied |= 4
            if sending.isStopped { pauses.isSendingPaused = true }
            return Int(CURL_READFUNC_PAUSE)
        }
        let room = min(buffer.count, options.sendPieceSize)
        let count = unsafe upload.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<room]))
        if count > 0 {
            sending.hasBegun = true
            sending.takenBytes += Int64(count)
            activity = (engine.now, engine.now)
            delegate?.transferDidSendBody(count)
        }
        if let part = upload.beginFetch(isStarved: count == 0) { fetch(part) }
        guard count == 0, !upload.isAtEnd else {
            if reports.sending == .wanted { checkSending() }
            askForBody()
            return count
        }
        pauses.isSendingPaused = true
        pauses.applied |= 4
        // The delegate may send the next chunk during this call, which then ends the pause.
        askForBody()
        return Int(CURL_READFUNC_PAUSE)
    }

    // MARK: Bytes that the system sends

    /// Returns the next part of a file for the system to send, if the body goes on with one and may be sent now.
    ///
    /// - Parameter rest: The number of bytes that the body may still have.
    func beginSendingFile(within rest: Int64) -> FileSource.Part? {
        guard !isHeldBack, !sending.isStopped else { return nil }
        let part = upload.beginSending(atMost: min(options.sendPieceSize, Int(clamping: rest)))
        if part != nil { sending.hasBegun = true }
        return part
    }

    /// Records that the system has sent bytes of a file, or none.
    func didSendFile(_ count: Int, isSupported: Bool) {
        upload.endSending(count, isSupported: isSupported)
        guard count > 0 else { return }
        sending.takenBytes += Int64(count)
        activity = (engine.now, engine.now)
        delegate?.transferDidSendBody(count)
        if reports.sending == .wanted { checkSending() }
        askForBody()
    }

    // MARK: Bytes from a disk

    private func fetch(_ part: FileSource.Part) {
        BlockingThreadPool.begin(at: FileSystem.folder(of: part.path)) { [self] in
            let result = Result { () throws(FileError) in try part.read() }
            engine.submit { [self] in didFetch(result, path: part.path) }
        }
    }

    private func didFetch(_ result: Result<Data, FileError>, path: String) {
        // The bytes are no longer needed.
        guard upload.file != nil else { return }
        switch result {
        case .success(let bytes):
            upload.endFetch(bytes)
            resumeSending()
        case .failure(let error): fail(error, path: path)
        }
    }

    /// Ends the transfer because the file of its body cannot be read.
    func fail(_ error: FileError, path: String) {
        upload.discard()
        failure = EngineFailure(kind: .bodyFile(path: path), message: error.reason)
        engine.update(self)
    }
}
