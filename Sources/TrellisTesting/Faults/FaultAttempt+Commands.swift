import FoundationEssentials
import HTTPTypes
@_spi(Transport) import TrellisCore

/// The commands of the exchange, which wait until the other attempt is started.
extension FaultAttempt {
    func pauseReceiving(_ isPaused: Bool) {
        state.update { $0.wanted.isPaused = isPaused }
        applyFlow()
    }

    func suspend(_ isSuspended: Bool) {
        state.update { $0.wanted.isSuspended = isSuspended }
        applyFlow()
    }

    func send(_ chunk: Data) { forward(.send(chunk)) }

    func pauseSending(_ isPaused: Bool) { forward(.pauseSending(isPaused)) }

    func finishSending() { forward(.finish(nil)) }

    func finishSending(trailers: HTTPFields) { forward(.finish(trailers)) }

    func stopSending() { forward(.stop) }

    private func forward(_ command: Command) {
        let (inner, hasRoom) = state.update { state in state.take(command) }
        if let inner { perform(command, on: inner) }
        if hasRoom { events.transportNeedsBody() }
    }

    func perform(_ command: Command, on inner: any TransportTask) {
        switch command {
        case .send(let chunk): inner.send(chunk)
        case .pauseSending(let isPaused): inner.pauseSending(isPaused)
        case .finish(nil): inner.finishSending()
        case .finish(let trailers?): inner.finishSending(trailers: trailers)
        case .stop: inner.stopSending()
        }
    }

    // MARK: Measurements

    var report: TransportReport {
        let state = state.value
        return state.inner?.report ?? state.lastReport
    }

    var activity: TransportActivity? { state.value.inner?.activity }

    var awaitsBody: Bool {
        let state = state.value
        return state.inner.map(\.awaitsBody) ?? (!state.isBodyComplete && state.bodyCount <= state.wantedBody)
    }

    var countsSentBody: Bool { state.value.inner?.countsSentBody ?? false }

    var receivedBodyBytes: Int64? { state.value.inner?.receivedBodyBytes }

    var sharesConnection: Bool { state.value.inner?.sharesConnection ?? false }
}

extension FaultAttempt.State {
    /// Records a command. Returns the attempt that is to perform it now, or whether there is room for another chunk of the body.
    fileprivate mutating func take(_ command: FaultAttempt.Command) -> (inner: (any TransportTask)?, hasRoom: Bool) {
        if forwards { return (inner, false) }
        early.append(command)
        switch command {
        case .send(let chunk):
            bodyCount += chunk.count
            owesRoom = bodyCount > wantedBody
            return (nil, !owesRoom)
        case .finish, .stop:
            isBodyComplete = true
            return (nil, false)
        case .pauseSending: return (nil, false)
        }
    }
}
