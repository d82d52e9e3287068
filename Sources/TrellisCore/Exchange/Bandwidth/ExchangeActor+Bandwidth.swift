import CurlEngine

/// The bandwidth limits of an exchange: its transfer is paused when it has used up its granted bytes. Without limits, these methods do
/// nothing.
extension ExchangeActor {
    /// Joins the gates of the limits, once, before the first attempt.
    func joinGates() {
        guard flow?.hasJoined == false else { return }
        changeFlow {
            $0.hasJoined = true
            $0.receiving.join(self, at: executor.now)
            if prepared.streamedBody != nil { $0.sending.join(self, at: executor.now) }
        }
    }

    /// Changes the limits outside of the property. Otherwise every access to the property, in exchanges without limits too, would be
    /// checked for a conflict with such a change at run time.
    private func changeFlow(_ change: (inout TransferBandwidth) -> Void) {
        guard var flow else { return }
        change(&flow)
        self.flow = flow
    }

    /// Pauses the attempt that has begun if a gate has not granted bytes yet.
    func pauseForBandwidth() {
        changeFlow {
            $0.received = 0
            $0.isSendingPaused = false
        }
        pauseReceiving()
        pauseSending()
    }

    /// Leaves the gates at the end of the exchange.
    func leaveGates() {
        guard let flow else { return }
        for gate in flow.sending.gates + flow.receiving.gates { gate.leave(self) }
        self.flow = nil
    }

    /// Counts received bytes of the response's body, and pauses the transfer if it has used up its granted bytes.
    func countReceived(_ bytes: RawSpan) {
        changeFlow { flow in
            // The number of bytes before decoding is used if the transport knows it.
            let total = task?.receivedBodyBytes ?? flow.received + Int64(bytes.byteCount)
            flow.receiving.spend(Int(total - flow.received), self, at: executor.now)
            flow.received = total
        }
        pauseReceiving()
    }

    /// Counts sent bytes of the request's body, and pauses the transfer if it has used up its granted bytes.
    func countSent(_ count: Int) {
        guard flow != nil else { return }
        changeFlow { $0.sending.spend(count, self, at: executor.now) }
        pauseSending()
    }

    /// Resumes the directions that a gate had paused.
    func bandwidthIsGranted(by gate: BandwidthGate) {
        changeFlow {
            $0.sending.open(gate)
            $0.receiving.open(gate)
        }
        lastMove = executor.now
        pauseReceiving()
        pauseSending()
        if isRoomPending { roomForBody() }
        updateTimer()
    }

    func needsBody(for attempt: ExchangeState.Attempt) {
        if isPresent(attempt) { roomForBody() }
    }

    /// Notifies the pump that the transport has room for a chunk, unless a bandwidth limit must grant bytes first.
    func roomForBody() {
        isRoomPending = flow?.sending.isHeld == true && task?.countsSentBody == false
        if !isRoomPending { pump?.transportHasRoom() }
    }

    private func pauseSending() {
        guard let flow, flow.isSendingPaused != flow.sending.isHeld else { return }
        changeFlow { $0.isSendingPaused = flow.sending.isHeld }
        task?.pauseSending(flow.sending.isHeld)
    }

    /// Pauses or resumes receiving, depending on the reader and the bandwidth limits.
    func pauseReceiving() {
        let isHeld = state.isHeldByReader || flow?.receiving.isHeld == true
        guard isReceivingPaused != isHeld else { return }
        isReceivingPaused = isHeld
        task?.pauseReceiving(isHeld)
    }
}
