/// A connection that was opened because every other connection to the origin carries as many streams as are allowed.
package struct AddedConnection: Hashable, Sendable {
    /// The number of connections to the origin in use, including this one.
    package let number: Int
    /// The number of streams that each connection carries at most: the server's limit as far as it is known, and at most
    /// ``HTTP2Limits/streams``.
    package let streamLimit: Int
}
