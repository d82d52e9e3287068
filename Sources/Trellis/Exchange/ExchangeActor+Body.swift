import CurlEngine
import FoundationEssentials

/// What the pump brings for the request's body.
extension ExchangeActor {
    func startPump() {
        guard let body = prepared.streamedBody else { return }
        if sentBodyBytes > 0 { resetUpload() }
        pump = BodyPump(body, into: self, readsFiles: task is any FileTransportTask)
    }

    // A pump that was replaced or stopped has nothing more to say.

    func send(_ chunk: Data, from pump: BodyPump) {
        guard pump === self.pump else { return }
        lastMove = executor.now
        task?.send(chunk)
        if task?.countsSentBody == false { sentBody(chunk.count) }
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

    /// All that the source has brought is on its way, and it owes more. The peer is not idle then, and has all its time afterwards.
    /// A peer that has begun to answer owes the rest of its answer, whatever the source does: an older libcurl does not notice the
    /// end of a connection on which sending is paused.
    var awaitsSource: Bool { head == nil && !isBodySent && state.expectation != .awaited && task?.awaitsBody == true }

    /// The answer has come, and says that the rest of the body is not wanted: the source ends, and nothing more is sent.
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
