import CurlEngine
package import FoundationEssentials

/// An open connection that carries bytes in both directions, without any protocol of its own: the connection on which a server has
/// accepted an upgrade (RFC 9110, section 7.8).
///
/// A connection whose last reference is released closes.
package protocol DuplexConnection: Sendable {
    /// Returns the next bytes of the peer, as soon as there are some, after ``readSoon()`` has returned none; `nil` at the end of the
    /// peer's bytes.
    ///
    /// There is one reader at a time. Beyond a small buffer, nothing is read from the socket unless a reader waits, so that the peer of a
    /// slow reader stops sending.
    ///
    /// - Throws: ``TrellisError`` if the connection failed or was closed by ``close()``; `CancellationError` in a cancelled task, after
    ///   which the connection can be read again.
    func waitForBytes() async throws -> Data?
    /// Returns the next bytes if there are some, or if they come so soon that the calling thread waits for them; otherwise `nil`, also at
    /// the end, which ``waitForBytes()`` finds.
    ///
    /// - Throws: The errors of ``waitForBytes()``.
    func readSoon() throws -> Data?
    /// Returns the bytes that were received, without waiting: none if there are none, and `nil` at the end of the peer's bytes.
    ///
    /// - Throws: The errors of ``waitForBytes()``, except `CancellationError`.
    func readAvailable() throws -> Data?
    /// Calls `body` once, on any thread, as soon as there is something to read and no reader waits for it: bytes, their end, or an error.
    /// A later call, and a call that reads, replace `body`.
    func whenReadable(_ body: @escaping @Sendable () -> Void)
    /// Adds bytes to those that are sent, in the order of the calls. Returns whether there is room for more: at most 64 KiB of all added
    /// bytes are not in the socket's own buffer yet.
    ///
    /// - Throws: ``TrellisError`` if the connection failed or was closed by ``close()``.
    func send(_ bytes: Data) throws -> Bool
    /// Adds a copy of bytes to those that are sent, as ``send(_:)-(Data)`` does.
    func send(_ bytes: RawSpan) throws -> Bool
    /// Returns when there is room for more bytes.
    ///
    /// - Throws: ``TrellisError`` if the connection failed or was closed by ``close()``; `CancellationError` if the task is cancelled while
    ///   it waits, and the added bytes are sent nevertheless.
    func waitForRoom() async throws
    /// Ends the waits of ``waitForBytes()`` and of ``waitForRoom()``, now and later: the connection's protocol has ended, its owner
    /// adds at most a last message, and waits for the end with ``whenReadable(_:)``. A read without bytes returns none.
    func endWaits()
    /// Sets the bytes that are sent if the connection is closed by the end of its session, as far as the socket's own buffer takes them at
    /// once; `nil` for none.
    func setFarewell(_ bytes: Data?)
    /// Closes the connection at once: waiting calls throw. Later calls have no effect.
    func close()
    /// The executor of the connection's thread, on which a task reads without a thread switch, if any.
    var executor: (any TaskExecutor)? { get }
}

extension DuplexConnection {
    /// Returns the next bytes of the peer, as soon as there are some; `nil` at the end of the peer's bytes.
    ///
    /// - Throws: The errors of ``waitForBytes()``.
    package func read() async throws -> Data? {
        // Bytes that are there need no other function that may suspend: such a call takes time even if it does not suspend.
        if let bytes = try readSoon() { return bytes }
        return try await waitForBytes()
    }

    /// The default copies the bytes.
    package func send(_ bytes: RawSpan) throws -> Bool { try send(bytes.copied) }

    /// The default leaves every wait to ``waitForBytes()``.
    package func readSoon() throws -> Data? { nil }

    /// The default, `nil`, means that the connection has no separate thread.
    package var executor: (any TaskExecutor)? { nil }

    /// The default has no effect, for a connection on which nothing waits.
    package func endWaits() {}

    /// The default has no effect, for a connection that does not depend on a session.
    package func setFarewell(_ bytes: Data?) {}
}
