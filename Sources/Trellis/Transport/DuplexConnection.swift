package import FoundationEssentials

/// An open connection that carries bytes in both directions, without any protocol of its own: the connection on which a server has
/// accepted an upgrade (RFC 9110, section 7.8).
///
/// A connection whose last reference is released closes.
package protocol DuplexConnection: Sendable {
    /// Returns the next bytes of the peer, as soon as there are some; `nil` at the end of the peer's bytes.
    ///
    /// There is one reader at a time. Beyond a small buffer, nothing is read from the socket unless a reader waits, so that the peer of a
    /// slow reader stops sending.
    ///
    /// - Throws: ``TrellisError`` if the connection failed or was closed by ``close()``; `CancellationError` in a cancelled task, after
    ///   which the connection can be read again.
    func read() async throws -> Data?
    /// Returns the bytes that were received, without waiting: none if there are none, and `nil` at the end of the peer's bytes.
    ///
    /// - Throws: The errors of ``read()``, except `CancellationError`.
    func readAvailable() throws -> Data?
    /// Calls `body` once, on any thread, as soon as there is something to read and no reader waits for it: bytes, their end, or an error.
    /// A later call, and a call of ``read()``, replace `body`.
    func whenReadable(_ body: @escaping @Sendable () -> Void)
    /// Adds bytes to those that are sent, before the first suspension and even in a cancelled task, and returns when at most 64 KiB of all
    /// added bytes are not in the socket's own buffer yet. Calls may overlap: bytes are sent in the order of the calls.
    ///
    /// - Throws: ``TrellisError`` if the connection failed or was closed by ``close()``; `CancellationError` if the task is cancelled while
    ///   it waits, and the bytes are sent nevertheless.
    func write(_ bytes: Data) async throws
    /// Ends the waits of ``read()`` for bytes and of ``write(_:)`` for room, now and later: the connection's protocol has ended, its owner
    /// adds at most a last message, and waits for the end with ``whenReadable(_:)``. A read without bytes returns none.
    func endWaits()
    /// Sets the bytes that are sent if the connection is closed by the end of its session, as far as the socket's own buffer takes them at
    /// once; `nil` for none.
    func setFarewell(_ bytes: Data?)
    /// Closes the connection at once: waiting calls throw. Later calls have no effect.
    func close()
    /// The executor of the connection's thread, on which a task reads without a thread switch; `nil` if there is none.
    var executor: (any TaskExecutor)? { get }
}

extension DuplexConnection {
    /// The default, `nil`, means that the connection has no thread of its own.
    package var executor: (any TaskExecutor)? { nil }

    /// The default has no effect, for a connection on which nothing waits.
    package func endWaits() {}

    /// The default has no effect, for a connection that does not depend on a session.
    package func setFarewell(_ bytes: Data?) {}
}
