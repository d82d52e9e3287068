import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The transfer of the request's body from the pump to the transport.
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

    func finishSending(trailers: HTTPFields?, from pump: BodyPump) {
        guard pump === self.pump else { return }
        isBodySent = true
        lastMove = executor.now
        if let trailers { task?.finishSending(trailers: trailers) } else { task?.finishSending() }
        bodyWasPassed()
        updateTimer()
    }

    /// Whether all bytes that the source has provided are sent, and the source must provide more. During this wait the peer is
    /// not considered idle; its idle time starts afterwards. Once the peer has begun to respond, the limits apply even if the source must
    /// provide more: an older libcurl does not detect the end of a connection on which sending is paused.
    var awaitsSource: Bool { head == nil && !isBodySent && state.expectation != .awaited && task?.awaitsBody == true }

    /// Stops the source and the sending of the body, because the response shows that the server does not need the rest of the body.
    func stopSending() {
        guard let pump else { return }
        pump.stop()
        self.pump = nil
        if !isBodySent { sending = .none }
        isBodySent = true
        task?.stopSending()
    }

    func bodyFailed(_ error: TrellisError, from pump: BodyPump) {
        guard pump === self.pump else { return }
        fail(error)
    }
}
