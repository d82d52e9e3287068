import HTTPTypes
import NIOCore

/// The limits on time. The connection has one timer, which is set again only when it is due.
extension ConnectionHandler {
    func setInputDeadline(after time: TimeAmount) {
        inputDeadline = .now() + time
        setTimer()
    }

    func setOutputDeadline() {
        outputDeadline = .now() + limits.stall
        setTimer()
    }

    func setProbe(after time: TimeAmount) {
        probeTime = time
        probeDeadline = .now() + time
        setTimer()
    }

    private var deadline: NIODeadline? {
        [inputDeadline, outputDeadline, probeDeadline].compactMap(\.self).min()
    }

    private func setTimer() {
        guard let context, let deadline else { return }
        if let timerDeadline, timerDeadline <= deadline { return }
        timer?.cancel()
        timerDeadline = deadline
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(deadline: deadline) { handler.value.timerIsDue() }
    }

    private func timerIsDue() {
        timer = nil
        timerDeadline = nil
        guard let context else { return }
        let now = NIODeadline.now()
        if let outputDeadline, outputDeadline <= now { return cut(context) }
        if let inputDeadline, inputDeadline <= now {
            self.inputDeadline = nil
            inputIsLate(context)
        }
        if let probeDeadline, probeDeadline <= now { probe(context) }
        setTimer()
    }

    private func inputIsLate(_ context: ChannelHandlerContext) {
        switch input {
        case .head where hasHeadDeadline: refuse(Refusal(.requestTimeout, "the head is not complete"), context)
        case .body:
            endBody(with: .timedOut)
            input = .dropped
        case .head, .complete, .dropped: context.close(promise: nil)
        }
    }
}
