/// A request and its response on an ``HTTP2Session``. It belongs to the engine thread.
final class HTTP2Stream {
    /// The number of the stream (RFC 9113, section 5.1.1).
    let number: Int32
    /// The transfer whose request the stream carries, if any. Only the user of the session uses it.
    var transfer: Transfer?

    /// Whether the head of the request was sent.
    var isHeadSent = false
    /// Whether the complete request was sent.
    var isRequestSent = false
    /// Whether the final head was received.
    var hasFinalHead = false
    /// The number of bytes of all heads, and of the trailer fields: names and values.
    var headBytes = 0
    /// Whether the reader takes no bytes now.
    var isHeld = false
    /// Whether neither the response has ended nor the stream has failed.
    var isActive = true

    init(number: Int32) { self.number = number }
}
