import CCurl

/// What libcurl's callbacks come down to. The return values are libcurl's.
extension Transfer {
    private static let abort = 0

    /// One header line. libcurl takes any other count than the given one as the end.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
        guard !isCancelled else { return Self.abort }
        activity.last = engine.now
        do throws(HeadFailure) {
            switch try unsafe parser.parse(line) {
            case .more: break
            case .informational(let head): delegate?.transferDidReceiveInformational(head)
            case .final(let head):
                if unsafe parser.hasTransferEncoding, unsafe parser.contentLength != nil { easy?.closeAfterwards() }
                delegate?.transferDidReceiveHead(head)
                finishEarlyIfWhole()
            }
        } catch {
            failure = EngineFailure(kind: .head(error), message: "")
            return Self.abort
        }
        return isCancelled ? Self.abort : line.count
    }

    /// Bytes of the body.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !isCancelled else { return Self.abort }
        activity.last = engine.now
        guard unsafe parser.hasFinalHead else {
            failure = EngineFailure(kind: .head(.cutShort), message: "")
            return Self.abort
        }
        unsafe delegate?.transferDidReceiveBody(bytes.bytes)
        finishEarlyIfWhole()
        return isCancelled ? Self.abort : bytes.count
    }

    /// Room for bytes of the request body.
    func fillUpload(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard !isCancelled else { return Int(CURL_READFUNC_ABORT) }
        let count = unsafe upload.read(into: buffer)
        if count > 0 {
            activity = (engine.now, engine.now)
        }
        askForBody()
        if count > 0 || upload.isFinished { return count }
        isSendingPaused = true
        appliedPause |= 4
        return Int(CURL_READFUNC_PAUSE)
    }

    /// The request is about to be sent.
    func isConnected() -> Int32 {
        guard !isCancelled else { return CURL_PREREQFUNC_ABORT }
        attempts += 1
        guard attempts == 1 || options.mayBeReplayed else {
            failure = EngineFailure(kind: .replayRefused, message: "")
            return CURL_PREREQFUNC_ABORT
        }
        activity = (engine.now, engine.now)
        delegate?.transferIsConnected()
        return CURL_PREREQFUNC_OK
    }

    /// A response can be complete while the request is still being sent, and libcurl would wait for a stalled source.
    private func finishEarlyIfWhole() {
        guard case .stream = options.body, !upload.isFinished, unsafe parser.hasFinalHead, let easy else { return }
        let hasNoBody = options.method == "HEAD" || easy.hasStatusWithoutBody
        let isWhole = unsafe parser.contentLength.map { $0 <= easy.receivedBodyBytes } ?? false
        guard unsafe hasNoBody || isWhole && !parser.hasTransferEncoding else { return }
        mustFinishEarly = true
        engine.update(self)
    }

    /// How it ended, given libcurl's view of it.
    func end(_ code: CURLcode) -> TransferEnd {
        let report = easy?.report ?? TransferReport()
        let cause: EngineFailure? =
            if let failure {
                failure
            } else if code != CURLE_OK {
                easy?.failure(code) ?? EngineFailure(code, detail: "", systemError: 0)
            } else if unsafe !parser.hasFinalHead {
                EngineFailure(kind: .head(.cutShort), message: "")
            } else {
                nil
            }
        return unsafe TransferEnd(failure: cause, trailers: parser.trailers, report: report)
    }
}
