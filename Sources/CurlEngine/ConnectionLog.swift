/// What libcurl before 8.1 tells of an HTTP/2 connection only in its log.
///
/// Where the server breaks the protocol, these versions end the connection and call the answer whole: the stream's end and the
/// connection's look alike to them. A connection that they close although the server did not take leave (GOAWAY) was broken.
struct ConnectionLog: Hashable {
    /// GOAWAY has come: the end of the connection is in order (RFC 9113, section 6.8).
    private(set) var hasGoAway = false
    /// The connection is kept after the transfer, or had to make room for others.
    private(set) var isKept = false
    /// libcurl says nothing: it was built without words.
    private(set) var isEmpty = true

    /// The connection has ended, and not in the order of the protocol. Known when the transfer has ended.
    var isBroken: Bool { !isEmpty && !isKept && !hasGoAway }

    /// Takes a line of the log.
    mutating func note(_ line: UnsafeRawBufferPointer) {
        isEmpty = false
        if unsafe line.hasPrefix("recveived GOAWAY") || line.hasPrefix("received GOAWAY") {
            hasGoAway = true
        } else if unsafe line.hasPrefix("Connection cache is full") {
            isKept = true
        } else if unsafe line.hasPrefix("Connection #") {
            isKept = unsafe isKept || line.withoutLineEnd.hasSuffix("left intact")
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func hasSuffix(_ text: StaticString) -> Bool {
        guard count >= text.utf8CodeUnitCount else { return false }
        return unsafe UnsafeRawBufferPointer(rebasing: self[(count - text.utf8CodeUnitCount)...]).hasPrefix(text)
    }
}
