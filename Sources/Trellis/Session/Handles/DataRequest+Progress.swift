import CurlEngine

/// A request that sends a body and whose answer is collected in memory: a ``DataRequest``, whose ``DataRequest/uploadProgress``
/// is what one mostly makes it for.
public typealias UploadRequest = DataRequest

extension DataRequest {
    /// How far the body of the request is, for as many readers as want it, at any time: bytes that have been handed to the network,
    /// of how many, if that is known. It starts over when the request goes out once more, after a redirect or for a retry, and
    /// ends with the request, however that ends.
    ///
    /// ```swift
    /// let upload = session.uploadRequest(.file("/tmp/film.mp4"), to: url)
    /// Task { for await progress in upload.uploadProgress { bar.update(progress.fraction ?? 0) } }
    /// let (data, response) = try await upload.data()
    /// ```
    ///
    /// Nothing is measured unless it is asked for.
    public var uploadProgress: TransferProgressSequence {
        guard case .success(let call) = owner.call else { return .ended }
        return call.uploadProgress.values
    }

    /// How far the body of the answer is, in the same way: bytes as they come over the wire, before decoding, of how many the
    /// answer's head has announced.
    public var downloadProgress: TransferProgressSequence {
        guard case .success(let call) = owner.call else { return .ended }
        return call.downloadProgress.values
    }
}

extension TransferProgressSequence {
    /// The progress of a transfer that never began.
    static var ended: TransferProgressSequence {
        let meter = ProgressBroadcaster(clock: MonotonicClock.system)
        meter.finish()
        return meter.values
    }
}
