/// How large libcurl's buffer for the body of a request is. libcurl sends one buffer a turn of the loop, and has it only while
/// the transfer runs.
enum UploadBufferSize {
    /// libcurl's own limit.
    static let smallest = 16 << 10
    /// Still fits into a core's cache.
    static let largest = 512 << 10

    /// Before 8.1 libcurl sends the same bytes of an HTTP/2 body again, in place of others, where the socket takes only a
    /// part of what a buffer makes: what is left of a frame and shorter than 1024 bytes counts as sent, and when the next
    /// attempt to send it fails, all of the buffer counts as not sent.
    static var sendsHTTP2Safely: Bool { LibcurlFeatures.current.isAtLeast(8, 1) }

    /// - Parameter length: Of the body, where it is known.
    static func bytes(length: Int64?, mayBeHTTP2: Bool, sendsHTTP2Safely: Bool) -> Int {
        // Linux calls a socket writable when a third of its buffer is free, which is more than this from the first byte on.
        if mayBeHTTP2, !sendsHTTP2Safely { return smallest }
        return Int(min(Int64(largest), max(Int64(smallest), length ?? .max)))
    }
}
