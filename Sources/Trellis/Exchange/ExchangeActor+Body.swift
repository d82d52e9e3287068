import CurlEngine
import FoundationEssentials

/// The chunks of the request's body, from the pump to the transport.
extension ExchangeActor {
    /// Starts the source of a streamed body.
    func startPump() {
        guard let body = prepared.streamedBody else { return }
        if sentBodyBytes > 0 { resetUpload() }
        pump = BodyPump(body, into: self, readsFiles: task is any FileTransportTask)
    }

    // Chunks of a pump that was replaced or stopped are ignored.

    func send(_ chunk: Data, from pump: BodyPump) {
        guard pump === self.pump else { return }
        lastMove = executor.now
        task?.send(chunk)
        if task?.countsSentBody == false { countSentBody(chunk.count) }
    }

    func send(_ file: FileReader, from pump: BodyPump) {
        guard pump === self.pump, let task = task as? any FileTransportTask else { return }
        lastMove = executor.now
        pump.willHandOver()
        task.send(file)
    }

    func finishSending(from pump: BodyPump) {
        guard pump === self.pump else { return }
        isBodySent = true
        lastMove = executor.now
        task?.finishSending()
        updateTimer()
    }

    /// A Boolean value: all bytes that the source has provided are sent, and the source owes more. The peer is not idle then, and
    /// its idle time starts afterwards. The limits apply again once the peer has begun to respond, even if the source owes more:
    /// an older libcurl does not notice the end of a connection on which sending is paused.
    var awaitsSource: Bool { head == nil && !isBodySent && state.expectation != .awaited && task?.awaitsBody == true }

    /// Ends the source, and sends nothing more, because the response shows that the rest of the body is not wanted.
    func stopSending() {
        guard let pump else { return }
        pump.stop()
        self.pump = nil
        isBodySent = true
        task?.stopSending()
    }

    func bodyFailed(_ error: TrellisError, from pump: BodyPump) {
        guard pump === self.pump else { return }
        fail(error)
    }
}
