/// The part of a connection that the engine thread performs.
extension SwitchedConnection {
    /// The next step of the engine.
    enum Step {
        /// The engine waits until the socket is ready.
        case wait(SocketInterest)
        /// There is more to do, in the next turn of the loop.
        case goOn
        /// The transfer has ended; ``Transfer/failure`` is the reason if it has failed.
        case end
    }

    /// The number of bytes that are sent in one turn of the loop, so that a fast server does not delay other connections.
    private static let bytesPerTurn = 256 << 10
    /// The most bytes that are received by one call.
    private static let receiveSize = 64 << 10

    /// Moves bytes between the socket and the buffers, as far as that is possible now.
    func serve(_ channel: ConnectionChannel, _ table: WireTable) -> Step {
        var blocked = send(channel)
        guard let room = roomToReceive() else { return .end }
        let step = receive(from: channel, table, room: room)
        // TLS may have received what it has waited for.
        if blocked == .read { blocked = send(channel) }
        guard case .wait(let interest) = step else { return step }
        // A socket that has bytes would be ready again at once, although the reader has no room for them.
        return .wait(blocked == .write ? interest.union(.write) : interest)
    }

    /// Sends the outgoing bytes, but not more than the share of one turn: a server that reads as fast as this thread sends would delay
    /// the other connections, and the end of this one. Returns what the socket must be ready for if some are left, or `nil`.
    func send(_ channel: ConnectionChannel) -> SocketInterest? {
        var room = Self.bytesPerTurn
        while let slice = nextSlice() {
            // The socket is ready again at once.
            guard room > 0 else { return .write }
            switch unsafe slice.withBytes({ unsafe channel.send($0) }) {
            case .moved(let count):
                room -= count
                didSend(count)
            case .mustWait, .mustSend: return .write
            case .mustReceive: return .read
            case .failed(let failure): sendingHasFailed(failure.as(.send))
            case .ended: return nil
            }
        }
        return nil
    }

    /// Records that a writer sends at once in a turn of the loop. Returns `false` if one has done so in that turn.
    func mayBeginSending(in turn: EngineInstant) -> Bool {
        state.withLock { state in
            defer { state.lastSendTurn = turn }
            return state.lastSendTurn != turn
        }
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

    /// Moves outgoing bytes into the frame of a stream. Returns their number.
    func fill(_ room: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        // The stream asks again after a full frame.
        while count < room.count, let slice = nextSlice() {
            let part = min(slice.range.count, room.count - count)
            let target = unsafe UnsafeMutableRawBufferPointer(rebasing: room[count...])
            unsafe slice.withBytes { unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<part])) }
            didSend(part)
            count += part
        }
        return count
    }

    /// Adds bytes that a stream has received. Returns whether the reader takes more.
    func receive(_ bytes: RawSpan) -> Bool {
        let (isStored, hasRoom) = state.withLock { state in
            guard state.received.append(bytes) else { return (false, false) }
            state.moved.received += Int64(bytes.byteCount)
            if state.received.count >= Self.readAhead { state.isFull = true }
            return (true, !state.isFull)
        }
        if !isStored { didFail(EngineFailure(kind: .outOfMemory, message: "no memory for the received bytes")) }
        tellReader()
        return hasRoom
    }

    /// Whether the reader takes more bytes of a stream, and whether this side has ended the connection.
    var flow: (takesMore: Bool, hasEnded: Bool) { state.withLock { (!$0.isFull, $0.end != nil) } }

    /// Records that the peer has sent all its bytes.
    func peerDidEnd() {
        state.withLock { $0.hasPeerEnded = true }
        tellReader()
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

    /// Returns the number of bytes that the buffer for the reader takes now; `nil` if the connection has ended on this side.
    private func roomToReceive() -> Int? {
        state.withLock { state -> Int? in
            guard state.end == nil else { return nil }
            let receives =
                !state.isFull && !state.hasPeerEnded && state.receiveFailure == nil && !state.direct.isOn
            state.direct.isEngineReceiving = receives
            return receives ? Self.readAhead - state.received.count : 0
        }
    }

    /// Receives bytes until there are none or the share of the turn, or the buffer for the reader, is full.
    private func receive(
        from channel: ConnectionChannel, _ table: WireTable, room: Int
    ) -> Step {
        guard room > 0 else { return .wait([]) }
        guard let buffer = unsafe table.buffer else {
            didFail(EngineFailure(kind: .outOfMemory, message: "no memory to receive"))
            return .end
        }
        var count = 0
        let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(room, buffer.count)])
        let outcome = unsafe receive(from: channel, into: target, &count)
        let isStored = count == 0 || store(count, table)
        state.withLock { $0.direct.isEngineReceiving = false }
        let step: Step
        switch outcome {
        case _ where !isStored: step = .end
        // The share is used up. A reader may have made room for more.
        case .moved: step = state.withLock { $0.isFull } ? .wait([]) : .goOn
        case .mustReceive: step = .goOn
        case .mustWait: step = .wait(.read)
        // The socket may have bytes, which TLS does not take now.
        case .mustSend: step = .wait(.write)
        case .ended:
            state.withLock { $0.hasPeerEnded = true }
            step = .wait([])
        case .failed(let failure):
            didFail(failure.as(.receive))
            step = .end
        }
        switch outcome {
        case .mustWait where count == 0, .mustReceive where count == 0, .mustSend where count == 0: return step
        default: tellReader()
        }
        return step
    }

    /// Receives bytes until the buffer is full or there are no more, and counts them. Returns the last outcome.
    private func receive(
        from channel: ConnectionChannel, into buffer: UnsafeMutableRawBufferPointer, _ count: inout Int
    ) -> ConnectionChannel.Outcome {
        while true {
            let rest = unsafe buffer[count..<min(buffer.count, count + Self.receiveSize)]
            let outcome = unsafe channel.receive(into: UnsafeMutableRawBufferPointer(rebasing: rest))
            guard case .moved(let added) = outcome else { return outcome }
            count += added
            if count == buffer.count { return outcome }
            if channel.isPlain, unsafe added < rest.count { return .mustWait }
        }
    }

    /// Adds the first bytes of the shared buffer to those that wait for the reader. Returns `false` if memory has run out.
    private func store(_ count: Int, _ table: WireTable) -> Bool {
        guard let buffer = unsafe table.buffer else { return false }
        // Few bytes are copied, because a reader may keep them for a long time.
        let chunk = count > ChunkQueue.largestOwned ? table.takeBuffer(0..<count) : nil
        let isStored = state.withLock { state in
            if let chunk {
                state.received.append(chunk: chunk)
            } else {
                let bytes = unsafe UnsafeRawBufferPointer(rebasing: buffer[..<count])
                guard unsafe state.received.append(bytes.bytes) else { return false }
            }
            state.moved.received += Int64(count)
            state.mayAnswer = true
            if state.received.count >= Self.readAhead { state.isFull = true }
            return true
        }
        if !isStored { didFail(EngineFailure(kind: .outOfMemory, message: "no memory for the received bytes")) }
        return isStored
    }

    /// Wakes the reader when no other socket is ready, so that a thread is mostly woken once for several readers.
    private func tellReader() {
        let loop = engineExecutor.engineLoop
        if loop.hasOneReadySocket { return wakeReader() }
        if state.withLock({ $0.reader != nil || $0.onReadable != nil }) { loop.deliverSoon(self) }
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
        connection.switched?.end(with: error)
        // The transfer is cancelled next, and its connection closed.
        engine.flushSwitched(self)
    }

    /// Leaves the connection after a switch of protocols, whose socket is closed.
    func leaveSwitched() {
        guard let switched = connection.switched else { return }
        switched.dropBytes()
        // The connection and the transfer refer to each other.
        connection.switched = nil
    }
}
