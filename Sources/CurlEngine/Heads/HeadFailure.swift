/// The reasons why a response head is rejected.
package enum HeadFailure: Error, Hashable, Sendable {
    /// A line that is not a status line.
    case badStatusLine(String)
    /// A status that the framework has not asked for, such as 101.
    case unexpectedStatus(Int)
    /// A line that is not a field line.
    case badFieldLine(String)
    /// Values of `Content-Length` that differ (RFC 9112, section 6.3).
    case conflictingContentLength
    /// A `Content-Length` that is not a number.
    case badContentLength(String)
    /// A head that exceeds the limit in bytes.
    case tooLarge(limit: Int)
    /// The head, or the trailers, have more fields than ``WireFields/maximumCount``.
    case tooManyFields
    /// A second final head.
    case secondHead
    /// A head that ends before it is complete.
    case cutShort
}
