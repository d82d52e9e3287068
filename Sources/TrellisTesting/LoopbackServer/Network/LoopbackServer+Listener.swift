import CurlEngine

extension LoopbackServer {
    /// The record of a server's connections, requests and errors.
    struct Record: Sendable {
        var accepted = 0
        var closed = 0
        var closedByPeer = 0
        var requests: [ReceivedRequest] = []
        var errors: [any Error] = []
        var handshakeFailures: [String] = []
    }

    /// The accepting thread and the threads of the connections. Separate from the server itself, so that the threads do not keep
    /// the server alive.
    final class Listener: Sendable {
        let record = Waiters(Record())
        let bytesWritten = Locked(0)

        private let socket: LoopbackSocket
        private let script: Script
        private let state = Locked(State())

        private struct State: Sendable {
            var isStopped = false
            var accepting: LoopbackThread?
            /// The connections whose script runs, by ordinal.
            var running: [Int: (socket: LoopbackSocket, thread: LoopbackThread)] = [:]
            /// The threads that have ended and are to be joined.
            var finished: [LoopbackThread] = []
        }

        init(socket: LoopbackSocket, script: @escaping Script) {
            self.socket = socket
            self.script = script
        }

        var isStopped: Bool { state.withLock { $0.isStopped } }

        func start() throws {
            try state.withLock { $0.accepting = try LoopbackThread { [self] in acceptConnections() } }
        }

        func stop() {
            let accepting = state.withLock { state in
                state.isStopped = true
                for connection in state.running.values { connection.socket.interrupt() }
                defer { state.accepting = nil }
                return state.accepting
            }
            socket.interrupt()
            accepting?.join()
            socket.close()
            // Connections are no longer added. Threads are joined one by one, as each may also end by itself meanwhile.
            while let thread = nextToJoin() { thread.join() }
        }

        private func nextToJoin() -> LoopbackThread? {
            state.withLock { state in
                state.finished.popLast() ?? state.running.popFirst()?.value.thread
            }
        }

        private func acceptConnections() {
            do {
                while let accepted = try socket.accept() { try serve(accepted) }
            } catch {
                record.update { $0.errors.append(error) }
            }
        }

        /// Starts the connection's thread, and joins the threads that ended since the last connection.
        private func serve(_ accepted: LoopbackSocket) throws {
            let ordinal = record.update { record in
                record.accepted += 1
                return record.accepted
            }
            let finished = try state.withLock { state in
                if state.isStopped { accepted.interrupt() }
                let thread = try LoopbackThread { [self] in run(accepted, ordinal) }
                state.running[ordinal] = (accepted, thread)
                defer { state.finished = [] }
                return state.finished
            }
            for thread in finished { thread.join() }
        }

        /// Runs the script of a connection, and then ends the connection.
        private func run(_ socket: LoopbackSocket, _ ordinal: Int) {
            let connection = Connection(socket: socket, ordinal: ordinal, listener: self)
            do {
                try script(connection)
            } catch is Interruption {
                // The connection is over, which is no fault of the script.
            } catch {
                record.update { $0.errors.append(error) }
            }
            let endedByPeer = connection.awaitPeersEnd()
            state.withLock { state in
                if let (_, thread) = state.running.removeValue(forKey: ordinal) { state.finished.append(thread) }
            }
            socket.close()
            record.update { record in
                record.closed += 1
                if endedByPeer { record.closedByPeer += 1 }
            }
        }
    }
}
