/// The size of libcurl's buffer for the body of a request. libcurl sends one buffer per turn of the loop, and has the buffer only during
/// the transfer.
enum UploadBufferSize {
    /// The smallest size that libcurl accepts, in bytes.
    static let smallest = 16 << 10
    /// The largest size in use, in bytes. It fits into the cache of a processor core.
    static let largest = 512 << 10

    /// Indicates whether libcurl sends HTTP/2 bodies correctly. Before 8.1, libcurl sends some bytes of an HTTP/2 body twice, in place of
    /// others, if the socket accepts only a part of the frames of a buffer: the rest of a frame counts as sent if it is shorter than 1024
    /// bytes, and when the next attempt to send that rest fails, the complete buffer counts as not sent.
    static var sendsHTTP2Safely: Bool { LibcurlFeatures.current.isAtLeast(8, 1) }

    /// Returns the size of the buffer in bytes.
    ///
    /// - Parameter length: The length of the body, if it is known.
    static func bytes(length: Int64?, mayBeHTTP2: Bool, sendsHTTP2Safely: Bool) -> Int {
        // Linux reports a socket as writable when a third of its buffer is free, which is more than this size from the first byte.
        if mayBeHTTP2, !sendsHTTP2Safely { return smallest }
        return Int(min(Int64(largest), max(Int64(smallest), length ?? .max)))
    }
}
