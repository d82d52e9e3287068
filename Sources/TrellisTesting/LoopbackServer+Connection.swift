import CurlEngine

extension LoopbackServer {
    /// One connection, as its script sees it. All calls block; all of them end with an ``Interruption`` when the peer
    /// goes away or the server is stopped.
    public final class Connection {
        /// Which connection of the server this is, counted from 1.
        public let ordinal: Int

        private let socket: LoopbackSocket
        let listener: Listener
        /// Bytes received and not yet consumed.
        private var buffer: [UInt8] = []
        private var isClosed = false
        private var isPeerGone = false

        init(socket: LoopbackSocket, ordinal: Int, listener: Listener) {
            self.socket = socket
            self.ordinal = ordinal
            self.listener = listener
            socket.sendWithoutDelay()
        }

        // MARK: Writing

        /// Writes text as UTF-8.
        public func write(_ text: String) throws { try write(Array(text.utf8)) }

        /// Writes bytes; returns when the kernel has taken all of them.
        public func write(_ bytes: some Sequence<UInt8>) throws { try write(Array(bytes)) }

        /// Writes bytes; returns when the kernel has taken all of them.
        public func write(_ bytes: [UInt8]) throws {
            var rest = bytes[...]
            while !rest.isEmpty {
                // In pieces, so that `bytesWritten` moves as the client reads.
                let sent = try perform { try socket.send(rest.prefix(64 << 10)) }
                listener.bytesWritten.withLock { $0 += sent }
                rest = rest.dropFirst(sent)
            }
        }

        /// Returns when the client's kernel has everything that was written: what the client does from then on, it does
        /// with those bytes at hand.
        public func waitUntilReceived() { socket.waitUntilReceived() }

        /// Writes one piece at a time, in even steps of time. Ends early when the peer or the server goes away.
        public func drip(_ text: String, bytesAtOnce: Int = 1, every interval: Duration) throws {
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                try write(Array(rest.prefix(bytesAtOnce)))
                rest = rest.dropFirst(bytesAtOnce)
                try pause(for: interval)
            }
        }

        /// Bounds what the kernel takes off the script's hands before a write blocks, so that a client's backpressure
        /// reaches the script sooner.
        public func limitSendBuffer(to bytes: Int) { socket.limitSendBuffer(to: bytes) }

        // MARK: Reading

        /// The next bytes, at most so many; empty at the end of the peer's stream.
        public func read(upTo count: Int = 64 << 10) throws -> [UInt8] {
            if buffer.isEmpty, try !fill() { return [] }
            let bytes = Array(buffer.prefix(count))
            buffer.removeFirst(bytes.count)
            return bytes
        }

        /// Exactly so many bytes.
        public func read(exactly count: Int) throws -> [UInt8] {
            while buffer.count < count { try fillOrThrow() }
            let bytes = Array(buffer.prefix(count))
            buffer.removeFirst(count)
            return bytes
        }

        /// Everything up to and including a line of its own, such as a head with its empty line; nil when the stream
        /// ends before its first byte.
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

        /// By hand: the standard library's search takes most of a server's time where nothing is optimised.
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

        /// Reads until the peer closes or resets, and says how many bytes it threw away.
        @discardableResult
        public func readToEnd() throws -> Int {
            var count = 0
            while case let bytes = try read(), !bytes.isEmpty { count += bytes.count }
            return count
        }

        private func fillOrThrow() throws { if try !fill() { throw Interruption.closedByPeer } }

        /// Receives more; false at the end of the peer's stream.
        private func fill() throws -> Bool {
            let bytes = try perform { try socket.receive(upTo: 64 << 10) }
            if bytes.isEmpty {
                if listener.isStopped { throw Interruption.stopped }
                isPeerGone = true
                return false
            }
            if buffer.isEmpty { buffer = bytes } else { buffer += bytes }
            return true
        }

        // MARK: Waiting

        /// Blocks until the gate is open. Throws when the peer closes its side first.
        public func wait(for gate: Gate) throws { try wait(for: gate, timeout: nil) }

        /// Blocks for a time. Throws when the peer closes its side first.
        public func pause(for duration: Duration) throws { try wait(for: nil, timeout: duration) }

        /// Blocks until the peer closes or resets. What it sends meanwhile stays unread.
        public func waitForPeersEnd() {
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

        /// Ends this side of the connection (FIN) and goes on reading.
        public func shutdownWrite() { if !isClosed { socket.shutdownWrite() } }

        /// Closes both sides at once. What the peer sent and nobody read makes the kernel reset the connection, as it
        /// does for any server; a script that returns instead ends in order.
        public func close() {
            isClosed = true
            socket.close()
        }

        /// Ends with a reset (RST): the peer loses what it has not read yet.
        public func reset() {
            isClosed = true
            socket.reset()
        }

        /// The orderly end after the script: FIN, then read until the peer has ended too. Whether the peer did.
        func awaitPeersEnd() -> Bool {
            if !isClosed, !isPeerGone {
                socket.shutdownWrite()
                buffer = []
                _ = try? readToEnd()
            }
            return isPeerGone
        }

        private func throwIfOver() throws {
            if isClosed { throw Interruption.closedByScript }
            if listener.isStopped { throw Interruption.stopped }
        }

        /// Runs a system call, and says who ended the connection where that is what its error means.
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
