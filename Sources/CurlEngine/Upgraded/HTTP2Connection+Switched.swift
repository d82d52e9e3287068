/// The streams of a connection that carry other protocols, after the server has accepted an extended CONNECT (RFC 8441).
extension HTTP2Connection {
    /// Leaves a stream to another protocol.
    func switchProtocols(_ head: WireHead, on stream: HTTP2Stream, of transfer: Transfer) {
        if transfer.reports.sending == .checked { transfer.reportSentBeforeAnswer() }
        let switched = SwitchedConnection(transfer, received: RawSpan(), plainSocket: -1)
        transfer.connection.switched = switched
        unsafe stream.upgrade?.connection = switched
        unsafe stream.sending.isHeldBack = false
        transfer.delegate?.transferDidSwitchProtocols(head, switched)
    }

    /// Takes bytes of another protocol. A reader that takes no more of them stops the server by the window of the stream.
    func receive(_ bytes: RawSpan, on stream: HTTP2Stream, for switched: SwitchedConnection) {
        if !switched.receive(bytes) { session?.hold(stream) }
        if switched.transfer.failure != nil { engine.update(switched.transfer) }
    }

    /// Sends and receives on a stream, as far as that is possible now.
    func advance(_ transfer: Transfer, _ switched: SwitchedConnection) {
        let flow = switched.flow
        guard !flow.hasEnded, let session, let stream = transfer.wire.stream else {
            return engine.wire.end(transfer, nil)
        }
        session.resumeBody(stream)
        if stream.isHeld, flow.takesMore { session.release(stream) }
        isReady()
    }

    /// Fails the connection of another protocol with its stream.
    func fail(_ switched: SwitchedConnection, _ failure: EngineFailure) {
        switched.didFail(failure.as(.receive))
        switched.wakeReader()
        engine.wire.end(switched.transfer, nil)
    }
}
