import CCurl
private import Glibc

/// The second start of a transfer for whose connection there was no file descriptor.
extension Transfer {
    /// The source of the file descriptor for a transfer's connection.
    enum Descriptor {
        /// The system.
        case ofSystem
        /// The oldest idle connection of the engine, which libcurl closes first.
        case ofIdleConnection
        /// Idle connections of other engines in the process, which have been closed.
        case ofOtherEngine
    }

    /// Returns whether the transfer starts again because it got no file descriptor, once: idle connections are closed for it.
    func startsWithoutIdleConnection() -> Bool {
        guard repetition.descriptor == .ofSystem, failure == nil, attempts == 0, let easy,
            [EMFILE, ENFILE].contains(easy.errors.socket)
        else { return false }
        repetition.descriptor = engine.hasIdleConnection ? .ofIdleConnection : .ofOtherEngine
        return true
    }
}
