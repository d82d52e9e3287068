import CurlEngine

/// How a request keeps to the limits on its bandwidth: it is paused when it has used up what it was granted. Nothing of this
/// happens where there are no limits.
extension ExchangeActor {
    /// Before an attempt.
    func joinFlow() {
        guard flow?.hasJoined == false else { return }
        flow?.hasJoined = true
        flow?.receiving.join(self)
        if prepared.streamedBody != nil { flow?.sending.join(self) }
    }

    /// When the attempt has begun.
    func beginFlow() {
        flow?.received = 0
        flow?.isSendingPaused = false
        pauseReceiving()
        pauseSending()
    }

    /// At the end of the request.
    func leaveFlow() {
        guard let flow else { return }
        for gate in flow.sending.gates + flow.receiving.gates { gate.onEngineThread.leave(self) }
        self.flow = nil
    }

    /// Bytes of the answer have come.
    func countReceived(_ bytes: RawSpan) {
        guard var flow else { return }
        // Before decoding, where that is known.
        let total = task?.receivedBodyBytes ?? flow.received + Int64(bytes.byteCount)
        flow.receiving.spend(Int(total - flow.received), self)
        flow.received = total
        self.flow = flow
        pauseReceiving()
    }

    /// Bytes of the request's body have gone.
    func countSent(_ count: Int) {
        guard flow != nil else { return }
        flow?.sending.spend(count, self)
        pauseSending()
    }

    func bandwidthIsGranted(by gate: BandwidthGate) {
        flow?.sending.open(gate)
        flow?.receiving.open(gate)
        lastMove = executor.now
        pauseReceiving()
        pauseSending()
        if owesRoom { roomForBody() }
        updateTimer()
    }

    /// Passes the room for a chunk on, unless the limit has to bring it in first.
    func roomForBody() {
        owesRoom = flow?.sending.isHeld == true && task?.countsSentBody == false
        if !owesRoom { pump?.transportHasRoom() }
    }

    private func pauseSending() {
        guard let flow, flow.isSendingPaused != flow.sending.isHeld else { return }
        self.flow?.isSendingPaused = flow.sending.isHeld
        task?.pauseSending(flow.sending.isHeld)
    }

    /// Stops or goes on receiving: for the reader or for a limit.
    func pauseReceiving() {
        let isHeld = state.isHeldByReader || flow?.receiving.isHeld == true
        guard isReceivingPaused != isHeld else { return }
        isReceivingPaused = isHeld
        task?.pauseReceiving(isHeld)
    }
}
