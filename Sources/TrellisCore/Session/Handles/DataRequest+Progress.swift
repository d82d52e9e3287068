import CurlEngine

/// A request that sends a body and whose response is collected in memory: a ``DataRequest``, mostly used for its
/// ``DataRequest/uploadProgress``.
public typealias UploadRequest = DataRequest

extension DataRequest {
    /// The progress of the request's body, for any number of readers, at any time: the bytes that were passed to the network, and
    /// their total, if it is known. Progress starts over when the request is sent again, after a redirect or for a retry, and
    /// ends with the request, whether it succeeds or fails.
    ///
    /// The first reader that waits for a value starts the request, as the reader of its response does:
    ///
    /// ```swift
    /// let upload = session.uploadRequest(.file("/tmp/film.mp4"), to: url)
    /// for await progress in upload.uploadProgress { bar.update(progress.fraction ?? 0) }
    /// let response = try await upload.response(of: .data)
    /// ```
    ///
    /// Progress is only measured if it is asked for.
    public var uploadProgress: TransferProgressSequence { handle.progress(validation) { $0.uploadProgress } }

    /// The progress of the response's body, in the same way: bytes on the wire, before decoding, and their total if the head
    /// announces it.
    public var downloadProgress: TransferProgressSequence { handle.progress(validation) { $0.downloadProgress } }
}

extension TransferProgressSequence {
    /// The progress of a transfer that never began.
    static var ended: TransferProgressSequence {
        let meter = ProgressBroadcaster(clock: MonotonicClock.system)
        meter.finish()
        return meter.values
    }
}
