import FoundationEssentials
private import Glibc

/// The answers of a writer on another thread, which the writer sends itself, so that no answer wakes the engine thread.
extension SwitchedConnection {
    /// The largest number of bytes that a writer sends itself, because the engine thread may wait for the lock meanwhile.
    private static let largestAnswer = 4 << 10

    /// Sends few bytes on the socket, if none wait before them, as far as the socket takes them at once. Returns the rest.
    ///
    /// That is one write for each time that bytes were received. Several writes in a row are collected by the engine thread. It also
    /// finds the failure of a socket that takes nothing. The socket is open, because ``forgetSocket()`` takes the same lock before the
    /// socket is closed.
    static func sendAtOnce(_ bytes: Data, _ state: inout State) -> Data {
        let socket = state.plainSocket
        guard socket >= 0, state.mayAnswer, !bytes.isEmpty, bytes.count <= largestAnswer, !state.isSending,
            state.outgoing.count == 0
        else { return bytes }
        state.mayAnswer = false
        let sent = unsafe bytes.withUnsafeBytes { bytes in
            unsafe Glibc.send(socket, bytes.baseAddress, bytes.count, ConnectionChannel.flags)
        }
        guard sent > 0 else { return bytes }
        state.moved.sent += Int64(sent)
        return sent < bytes.count ? bytes.dropFirst(sent) : Data()
    }

    /// Forgets the socket, which is about to be closed.
    func forgetSocket() { state.withLock { $0.plainSocket = -1 } }
}
