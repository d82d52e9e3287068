extension SocketTable {
    /// The state of one socket.
    struct Entry {
        /// The last interest of libcurl.
        var wanted: SocketInterest = []
        /// The last interest that was registered with the kernel.
        var registered: SocketInterest = []
        /// The number that distinguishes this use of the descriptor from the next one.
        var generation: UInt32 = 0
        /// Whether libcurl's callback opened the socket, so that the closing of the socket is reported.
        var isOurs = false
        /// Whether `dirty` lists the socket.
        var isDirty = false
        /// Whether the socket is in libcurl's pool, after an HTTP/1 response.
        var isIdleHTTP1 = false
        /// The easy handle for which libcurl last had an interest in the socket.
        var user: ObjectIdentifier?
        /// The number of the origin of the last request on the connection; negative before the end of the first one.
        var origin: Int32 = -1
        /// The local port of the connection if the engine has shut the connection down, although libcurl may not notice; otherwise 0.
        var endedPort: Int32 = 0
        /// The instant at which bytes last came.
        var lastRead = EngineInstant(nanoseconds: 0)
        /// Whether the connection is shut down at the end of its last request, because the machine has lost its local address, or
        /// because the peer is silent.
        var isRetired = false
        /// Whether the socket is listed among the unused ones: a request has ended, and libcurl has had no interest in the socket
        /// since.
        var isUnused = false
        /// The instant at which the last request ended.
        var lastUse = EngineInstant(nanoseconds: 0)
        /// The local port of a connection that can carry streams and was idle; otherwise 0.
        var idlePort: Int32 = 0
        /// Whether the engine has ended the connection, which libcurl has not closed yet.
        var hasEnded = false
    }
}
