import CCurl

/// The part of a connection that the engine thread performs.
extension SwitchedConnection {
    /// Moves bytes between the socket and the buffers, as far as that is possible now.
    func serve(_ channel: ConnectionChannel, _ buffer: UnsafeMutableRawBufferPointer) -> SwitchHandshake.Step {
        let isBlocked = !send(channel)
        if state.withLock({ $0.end != nil }) { return .end }
        let step = unsafe receive(channel, buffer)
        guard case .wait(let interest) = step else { return step }
        return .wait(isBlocked ? interest.union(.write) : interest)
    }

    /// Sends the outgoing bytes, but not more than the share of one turn: a server that reads as fast as this thread sends would delay
    /// the other connections, and the end of this one. Returns `false` if some are left.
    func send(_ channel: ConnectionChannel) -> Bool {
        var room = SwitchHandshake.bytesPerTurn
        while let slice = nextSlice() {
            // The socket is ready again at once.
            guard room > 0 else { return false }
            switch unsafe slice.withBytes({ unsafe channel.send($0) }) {
            case .moved(let count):
                room -= count
                didSend(count)
            case .mustWait: return false
            case .failed(let code): sendingHasFailed(channel.easy.failure(code, isSent: true).as(.send))
            case .ended: return true
            }
        }
        return true
    }

    private func nextSlice() -> OutgoingSlice? {
        state.withLock { state in
            let slice = state.outgoing.next()
            if slice == nil { state.isSending = false }
            return slice
        }
    }

    private func didSend(_ count: Int) {
        let writers = state.withLock { state -> [Waiter<Void>] in
            state.outgoing.remove(count)
            state.moved.sent += Int64(count)
            guard !state.writers.isEmpty, state.outgoing.count <= Self.writeAhead else { return [] }
            defer { state.writers = [] }
            return state.writers
        }
        for writer in writers { writer.reply.resume(with: .success(())) }
    }

    /// Ends sending. The peer's last bytes can still be read, which may say why.
    private func sendingHasFailed(_ failure: EngineFailure) {
        let writers = state.withLock { state -> [Waiter<Void>] in
            state.outgoing.removeAll()
            if state.sendFailure == nil { state.sendFailure = failure }
            defer { state.writers = [] }
            return state.writers
        }
        for writer in writers { writer.reply.resume(with: .failure(failure)) }
    }

    /// Receives bytes until there are none or the buffer for the reader is full.
    private func receive(
        _ channel: ConnectionChannel, _ buffer: UnsafeMutableRawBufferPointer
    ) -> SwitchHandshake.Step {
        var room = SwitchHandshake.bytesPerTurn
        var step: SwitchHandshake.Step?
        var hasNews = false
        while step == nil {
            guard state.withLock({ !$0.isFull && !$0.hasPeerEnded && $0.receiveFailure == nil }) else {
                step = .wait([])
                break
            }
            guard room > 0 else {
                step = .goOn
                break
            }
            switch unsafe channel.receive(into: buffer) {
            case .moved(let count):
                room -= count
                hasNews = true
                if unsafe !didReceive(buffer[..<count]) { step = .end }
            case .mustWait: step = .wait(.read)
            case .ended:
                hasNews = true
                state.withLock { $0.hasPeerEnded = true }
            case .failed(let code):
                hasNews = true
                didFail(channel.easy.failure(code, isSent: true).as(.receive))
                step = .end
            }
        }
        // Readers are woken when no other socket is ready, so that a thread is mostly woken once for several of them.
        if hasNews, state.withLock({ $0.reader != nil }) { engineExecutor.engineLoop.deliverSoon(self) }
        return step ?? .wait([])
    }

    private func didReceive(_ bytes: Slice<UnsafeMutableRawBufferPointer>) -> Bool {
        let isStored = state.withLock { state in
            guard unsafe state.received.append(UnsafeRawBufferPointer(rebasing: bytes).bytes) else { return false }
            unsafe state.moved.received += Int64(bytes.count)
            if state.received.count >= Self.readAhead { state.isFull = true }
            return true
        }
        if !isStored { didFail(EngineFailure(kind: .outOfMemory, message: "no memory for the received bytes")) }
        return isStored
    }

    /// Ends the connection with a failure, which its reader gets after the received bytes.
    func didFail(_ failure: EngineFailure) {
        if transfer.failure == nil { transfer.failure = failure }
        let writers = state.withLock { state -> [Waiter<Void>] in
            if state.receiveFailure == nil { state.receiveFailure = failure }
            if state.sendFailure == nil { state.sendFailure = failure }
            defer { state.writers = [] }
            return state.writers
        }
        for writer in writers { writer.reply.resume(with: .failure(failure)) }
    }
}

extension SwitchedConnection: DeferredDelivery {
    /// Passes what was received to the reader.
    package func deliver() { wakeReader() }
}

extension Transfer {
    /// Closes the connection on which the server has switched protocols. Its reader and its writers get the error.
    package func endConnection(with error: any Error) {
        handshake?.connection?.end(with: error)
        // The transfer is cancelled next, and its connection closed.
        engine.flushOwn(self)
    }
}
