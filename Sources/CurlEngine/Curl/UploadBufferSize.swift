/// The size of libcurl's buffer for the body of a request. libcurl sends one buffer a turn of the loop, and has the buffer only
/// while the transfer runs.
enum UploadBufferSize {
    /// The smallest size that libcurl accepts, in bytes.
    static let smallest = 16 << 10
    /// The largest size in use, in bytes, which still fits into a core's cache.
    static let largest = 512 << 10

    /// Indicates whether libcurl sends HTTP/2 bodies correctly. Before 8.1 libcurl sends the same bytes of an HTTP/2 body again,
    /// in place of others, where the socket takes only a part of the frames of a buffer: a rest of a frame that is shorter than
    /// 1024 bytes counts as sent, and when the next attempt to send that rest fails, all of the buffer counts as not sent.
    static var sendsHTTP2Safely: Bool { LibcurlFeatures.current.isAtLeast(8, 1) }

    /// Returns the size of the buffer in bytes.
    ///
    /// - Parameter length: The length of the body, where it is known.
    static func bytes(length: Int64?, mayBeHTTP2: Bool, sendsHTTP2Safely: Bool) -> Int {
        // Linux calls a socket writable when a third of its buffer is free, which is more than this size from the first byte on.
        if mayBeHTTP2, !sendsHTTP2Safely { return smallest }
        return Int(min(Int64(largest), max(Int64(smallest), length ?? .max)))
    }
}
