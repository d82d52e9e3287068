// Needed by libcurl before 8.1.

/// The handling of responses that libcurl before 8.1 loses. A server that responds before the end of the request resets the stream with
/// NO_ERROR after its response (RFC 9113, section 8.1). If libcurl reads that reset together with other frames of the response while it
/// has not sent the end of the request's body, it drops their bytes, the head among them, and delivers the trailers alone.
extension Transfer {
    /// Whether libcurl has to send the end of the body before it reads from the connection. A reset has no effect after that end.
    /// A body of more than one piece is sent in turns of the loop up to its last piece. The end of a body whose length is known goes out
    /// with its last bytes.
    var mustSendEndFirst: Bool {
        guard receiving.log != nil, case .stream(length: .none) = options.body, upload.isFinished, upload.file == nil
        else {
            return false
        }
        return !sending.hasPassedEnd && !sending.isStopped && !isHeldBack
            && upload.buffered <= UploadBufferSize.smallest
    }

    /// Returns the failure of a response with a rejected line. libcurl writes the status line of HTTP/2 itself, so that a response without
    /// one is a response that libcurl has lost.
    func rejection(_ error: HeadFailure) -> EngineFailure {
        guard receiving.log != nil, case .badStatusLine(let line) = error, !line.hasPrefix("HTTP/") else {
            return EngineFailure(kind: .head(error), message: "")
        }
        return EngineFailure(kind: .receive, message: Self.lostResponse)
    }

    private static let lostResponse = """
        libcurl has lost it, as versions before 8.1 do when the server resets the stream behind its response (RFC 9113, \
        section 8.1)
        """
}
