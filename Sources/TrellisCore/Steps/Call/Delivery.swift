/// The way in which the body of a response reaches its reader.
package enum Delivery: Sendable {
    /// The body is collected in memory.
    case memory
    /// The body is delivered in chunks, at the pace of the reader.
    case stream
    /// The request asks the server to switch protocols. The body of a response that refuses is delivered as for ``stream``.
    case connection
}
