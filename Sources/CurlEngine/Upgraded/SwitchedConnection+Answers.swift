private import Glibc

/// The answers of a writer on another thread, which the writer sends itself, so that no answer wakes the engine thread.
extension SwitchedConnection {
    /// The largest number of bytes that a writer sends itself, because the engine thread may wait for the lock meanwhile.
    package static let largestAnswer = 4 << 10

    /// Sends few bytes on the socket, if none wait before them, as far as the socket takes them at once. Returns the number of bytes that
    /// were sent.
    ///
    /// That is one write for each time that bytes were received. Several writes in a row are collected by the engine thread. It also
    /// finds the failure of a socket that takes nothing. The socket is open, because ``forgetSocket()`` takes the same lock before the
    /// socket is closed.
    func sendAtOnce(_ bytes: RawSpan, _ state: inout State) -> Int {
        let socket = state.plainSocket
        // The engine thread collects the bytes of one turn.
        guard socket >= 0, state.mayAnswer, !bytes.isEmpty, bytes.byteCount <= Self.largestAnswer, !state.isSending,
            state.outgoing.count == 0, !engineExecutor.isCurrent
        else { return 0 }
        state.mayAnswer = false
        let sent = unsafe bytes.withUnsafeBytes { bytes in
            unsafe Glibc.send(socket, bytes.baseAddress, bytes.count, ConnectionChannel.flags)
        }
        guard sent > 0 else { return 0 }
        state.moved.sent += Int64(sent)
        return sent
    }

    /// Forgets the socket, which is about to be closed.
    func forgetSocket() { state.withLock { $0.plainSocket = -1 } }
}
