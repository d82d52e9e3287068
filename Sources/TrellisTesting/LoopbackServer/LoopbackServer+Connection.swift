import CurlEngine

extension LoopbackServer {
    /// A connection, as its script sees it. All calls block; all of them end with an ``Interruption`` when the peer goes away or
    /// the server is stopped.
    public final class Connection {
        /// The number of the connection, counted from 1 by the server.
        public let ordinal: Int

        let socket: LoopbackSocket
        let listener: Listener
        /// The bytes that were received and not yet consumed.
        var buffer: [UInt8] = []
        /// The TLS of the connection; `nil` over plain TCP, and before the handshake.
        var tls: ConnectionTLS?
        private var isClosed = false
        /// Whether this side of the connection has ended.
        private var hasShutDown = false
        /// Whether the peer has closed or reset the connection.
        private var isPeerGone = false

        init(socket: LoopbackSocket, ordinal: Int, listener: Listener) {
            self.socket = socket
            self.ordinal = ordinal
            self.listener = listener
            socket.sendWithoutDelay()
        }

        /// The IP address of the client, without its port; empty on a Unix-domain socket.
        public var peerAddress: String { socket.peerAddress }

        // MARK: Writing

        /// Writes text as UTF-8.
        ///
        /// - Throws: ``LoopbackServer/Interruption``.
        public func write(_ text: String) throws { try write(Array(text.utf8)) }

        /// Writes bytes; returns when the kernel has taken all of them.
        ///
        /// - Throws: ``LoopbackServer/Interruption``.
        public func write(_ bytes: some Sequence<UInt8>) throws { try write(Array(bytes)) }

        /// Writes bytes; returns when the kernel has taken all of them.
        ///
        /// - Throws: ``LoopbackServer/Interruption``.
        public func write(_ bytes: [UInt8]) throws {
            var rest = bytes[...]
            while !rest.isEmpty {
                // In pieces, so that `bytesWritten` moves as the client reads.
                let piece = rest.prefix(64 << 10)
                let sent = try tls.map { try $0.send(piece, over: self) } ?? perform { try socket.send(piece) }
                listener.bytesWritten.withLock { $0 += sent }
                rest = rest.dropFirst(sent)
            }
        }

        /// Writes bytes to the socket as they are.
        func transmit(_ bytes: [UInt8]) throws {
            var rest = bytes[...]
            while !rest.isEmpty { rest = rest.dropFirst(try perform { try socket.send(rest) }) }
        }

        /// Changes the key of the server a number of times (RFC 8446, section 4.6.3): messages of TLS 1.3 without content.
        package func updateKey(times count: Int) throws { try tls?.updateKey(times: count, over: self) }

        /// Waits until the client's kernel has everything that was written: in all that the client does from then on, it has
        /// those bytes at hand. Returns as well when the client has gone, or when its kernel has had no room for a second because the
        /// client does not read.
        public func waitUntilReceived() { socket.waitUntilReceived() }

        /// Writes one piece at a time, at even intervals. Ends early when the peer or the server goes away.
        ///
        /// - Parameters:
        ///   - text: The text, which is written as UTF-8.
        ///   - bytesAtOnce: The size of a piece in bytes.
        ///   - interval: The pause after each piece.
        /// - Throws: ``LoopbackServer/Interruption``.
        public func writeSlowly(_ text: String, bytesAtOnce: Int = 1, every interval: Duration) throws {
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                try write(Array(rest.prefix(bytesAtOnce)))
                rest = rest.dropFirst(bytesAtOnce)
                try pause(for: interval)
            }
        }

        /// Limits the number of bytes that the kernel takes before a write blocks, so that a client's backpressure reaches the
        /// script sooner.
        public func limitSendBuffer(to bytes: Int) { socket.limitSendBuffer(to: bytes) }

        // MARK: Reading

        /// Returns the next bytes, at most `count`; empty at the end of the peer's stream.
        ///
        /// - Throws: ``LoopbackServer/Interruption``.
        public func read(upTo count: Int = 64 << 10) throws -> [UInt8] {
            if buffer.isEmpty, try !fill() { return [] }
            let bytes = Array(buffer.prefix(count))
            buffer.removeFirst(bytes.count)
            return bytes
        }

        /// Returns exactly `count` bytes.
        ///
        /// - Throws: ``LoopbackServer/Interruption``, also if the peer ends its stream before.
        public func read(exactly count: Int) throws -> [UInt8] {
            while buffer.count < count { try fillOrThrow() }
            let bytes = Array(buffer.prefix(count))
            buffer.removeFirst(count)
            return bytes
        }

        /// Returns everything up to and including `end`, such as a head with its empty line; `nil` if the stream ends before
        /// its first byte.
        func read(through end: [UInt8]) throws -> [UInt8]? {
            var searched = 0
            while true {
                if let found = endOfFirst(end, from: searched) {
                    let bytes = Array(buffer[..<found])
                    buffer.removeSubrange(..<found)
                    return bytes
                }
                searched = max(0, buffer.count - end.count + 1)
                if buffer.isEmpty {
                    if try !fill() { return nil }
                } else {
                    try fillOrThrow()
                }
            }
        }

        /// Returns the index after the first match of a pattern. Written by hand: the standard library's search takes most of a
        /// server's time in builds without optimization.
        private func endOfFirst(_ pattern: [UInt8], from start: Int) -> Int? {
            guard let last = pattern.last else { return start }
            var index = buffer.span.offset(of: last, from: start + pattern.count - 1)
            while index < buffer.count {
                var matching = pattern.count - 1
                while matching > 0, buffer[index - pattern.count + matching] == pattern[matching - 1] { matching -= 1 }
                if matching == 0 { return index + 1 }
                index = buffer.span.offset(of: last, from: index + 1)
            }
            return nil
        }

        /// Reads until the peer closes or resets, and returns the number of bytes that were discarded.
        ///
        /// - Throws: ``LoopbackServer/Interruption``.
        @discardableResult
        public func readToEnd() throws -> Int {
            var count = 0
            while case let bytes = try read(), !bytes.isEmpty { count += bytes.count }
            return count
        }

        func fillOrThrow() throws { if try !fill() { throw Interruption.closedByPeer } }

        /// Receives more bytes; returns `false` at the end of the peer's stream.
        private func fill() throws -> Bool {
            let bytes = try tls.map { try $0.receive(over: self) } ?? receive()
            if bytes.isEmpty {
                if listener.isStopped { throw Interruption.stopped }
                isPeerGone = true
                return false
            }
            if buffer.isEmpty { buffer = bytes } else { buffer += bytes }
            return true
        }

        /// Receives the bytes of the socket as they are; empty at the end of the peer's stream.
        func receive() throws -> [UInt8] { try perform { try socket.receive(upTo: 64 << 10) } }

        // MARK: Waiting

        /// Blocks until the gate is open.
        ///
        /// - Throws: ``LoopbackServer/Interruption``, also if the peer closes its side first.
        public func wait(for gate: Gate) throws { try wait(for: gate, timeout: nil) }

        /// Blocks for a time.
        ///
        /// - Throws: ``LoopbackServer/Interruption``, also if the peer closes its side first.
        public func pause(for duration: Duration) throws { try wait(for: nil, timeout: duration) }

        /// Blocks until the peer closes or resets. The bytes that the peer sends meanwhile stay unread.
        public func waitUntilPeerCloses() {
            guard !isClosed else { return }
            _ = socket.wait(for: nil, timeout: nil)
            isPeerGone = !listener.isStopped
        }

        private func wait(for gate: Gate?, timeout: Duration?) throws {
            try throwIfOver()
            if socket.wait(for: gate?.event, timeout: timeout) == .peerGone {
                if listener.isStopped { throw Interruption.stopped }
                isPeerGone = true
                throw Interruption.closedByPeer
            }
        }

        // MARK: Ending

        /// Ends this side of the connection (FIN) and continues reading.
        ///
        /// - Parameter isNotifying: Over TLS, whether the end is announced to the client (`close_notify`; RFC 8446, section 6.1). Without
        ///   that, a client cannot tell the end of a body without a length from an attack.
        public func shutdownWrite(notifying isNotifying: Bool = true) {
            guard !isClosed, !hasShutDown else { return }
            hasShutDown = true
            if isNotifying { tls?.end(over: self) }
            socket.shutdownWrite()
        }

        /// Closes both sides at once, over TLS without a notice. Bytes that the peer sent and the script did not read make the kernel reset
        /// the connection, as for any server; a script that returns instead ends in order.
        public func close() {
            isClosed = true
            socket.close()
        }

        /// Ends the connection with a reset (RST): the peer loses the bytes that it has not read yet.
        public func reset() {
            isClosed = true
            socket.reset()
        }

        /// Ends the connection in order after the script: FIN, then reads until the peer has ended too. Returns whether the peer
        /// has.
        func awaitPeersEnd() -> Bool {
            if !isClosed, !isPeerGone {
                shutdownWrite()
                // The rest is not decrypted: the client's last byte is TCP's.
                tls = nil
                buffer = []
                _ = try? readToEnd()
            }
            return isPeerGone
        }

        private func throwIfOver() throws {
            if isClosed { throw Interruption.closedByScript }
            if listener.isStopped { throw Interruption.stopped }
        }

        /// Runs a system call; throws an ``Interruption`` if its error means that the connection has ended.
        private func perform<Result>(_ call: () throws -> Result) throws -> Result {
            try throwIfOver()
            do {
                return try call()
            } catch let error as SystemError where error.meansDisconnection {
                if listener.isStopped { throw Interruption.stopped }
                isPeerGone = true
                throw Interruption.closedByPeer
            }
        }
    }
}
