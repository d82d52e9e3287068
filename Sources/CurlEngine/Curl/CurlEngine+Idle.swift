/// The idle connections of an engine, which are closed for the limits of the session, and for want of file descriptors.
extension CurlEngine {
    /// Closes one idle connection to an origin, or all idle connections if `origin` is `nil`.
    package func closeIdleConnections(to origin: String?) {
        guard let multi else { return }
        multi.makeRoomForClosedConnections()
        // Without shared connections, the table of sockets itself knows the unused ones.
        unsafe multi.sockets.closeIdle(to: origin) { streams.isUsed($0, port: $1) ?? false }
    }

    // MARK: File descriptors

    /// Indicates whether a connection is idle.
    var hasIdleConnection: Bool {
        guard let multi else { return false }
        return unsafe multi.sockets.hasIdle { streams.isUsed($0, port: $1) ?? false }
    }

    /// Closes idle connections at once, because another engine has no file descriptor: all of them, if no request runs or libcurl supports
    /// that (8.16), and otherwise none. Their number is not known beforehand: libcurl alone can close them.
    func giveUpIdleConnections() {
        guard let multi else { return }
        if !isBusy { return closeConnections() }
        guard LibcurlFeatures.current.canLeaveConnections, hasIdleConnection else { return }
        multi.leaveConnections()
        streams.leaveConnections()
    }

    /// Starts a transfer again as soon as the other engines of the process have closed idle connections.
    func startWithDescriptorOfOthers(_ transfer: Transfer) {
        EnginePeer.giveUpIdleConnections(for: executor) { [self] in submit { self.resume(transfer) } }
    }
}
