import CurlEngine
import FoundationEssentials

/// The events of the transport, from any thread. On the engine thread, where libcurl calls, they are handled at once; from other threads,
/// as soon as the engine thread is free.
extension ExchangeActor: TransportEvents {
    nonisolated func transportIsConnected() { connected(in: .first) }

    nonisolated func transportDidReceiveInformational(_ head: ResponseHead) { receivedInformational(head, in: .first) }

    nonisolated func transportDidReceiveHead(_ head: ResponseHead) { received(head, in: .first) }

    nonisolated func transportDidReceiveBody(_ bytes: RawSpan) { received(bytes, in: .first) }

    nonisolated func transportNeedsBody() { needsBody(in: .first) }

    nonisolated func transportDidSendBody(_ count: Int) { sentBody(count, in: .first) }

    nonisolated func transportDidEnd(_ end: TransportEnd) { ended(end, in: .first) }
}

/// The receiver of the transport's events for the attempt that is sent without the expectation, after the first attempt was dropped.
final class LaterAttempt: TransportEvents {
    let request: ExchangeActor

    init(_ request: ExchangeActor) { self.request = request }

    func transportIsConnected() { request.connected(in: .later) }

    func transportDidReceiveInformational(_ head: ResponseHead) { request.receivedInformational(head, in: .later) }

    func transportDidReceiveHead(_ head: ResponseHead) { request.received(head, in: .later) }

    func transportDidReceiveBody(_ bytes: RawSpan) { request.received(bytes, in: .later) }

    func transportNeedsBody() { request.needsBody(in: .later) }

    func transportDidSendBody(_ count: Int) { request.sentBody(count, in: .later) }

    func transportDidEnd(_ end: TransportEnd) { request.ended(end, in: .later) }
}

extension ExchangeActor {
    fileprivate nonisolated func connected(in attempt: ExchangeState.Attempt) {
        guard executor.isCurrent else { return submitDirectly { $0.isConnected(in: attempt) } }
        onEngineThread.isConnected(in: attempt)
    }

    fileprivate nonisolated func receivedInformational(_ head: ResponseHead, in attempt: ExchangeState.Attempt) {
        guard executor.isCurrent else { return submitDirectly { $0.receiveInformational(head, in: attempt) } }
        onEngineThread.receiveInformational(head, in: attempt)
    }

    fileprivate nonisolated func received(_ head: ResponseHead, in attempt: ExchangeState.Attempt) {
        guard executor.isCurrent else { return submitDirectly { $0.receive(head, in: attempt) } }
        onEngineThread.receive(head, in: attempt)
    }

    fileprivate nonisolated func received(_ bytes: RawSpan, in attempt: ExchangeState.Attempt) {
        guard executor.isCurrent else {
            let copy = [UInt8](copying: bytes)
            return submitDirectly { request in copy.withBytes { request.receive($0, in: attempt) } }
        }
        onEngineThread.receive(bytes, in: attempt)
    }

    fileprivate nonisolated func needsBody(in attempt: ExchangeState.Attempt) {
        guard executor.isCurrent else { return submitDirectly { $0.needsBody(for: attempt) } }
        onEngineThread.needsBody(for: attempt)
    }

    fileprivate nonisolated func sentBody(_ count: Int, in attempt: ExchangeState.Attempt) {
        guard executor.isCurrent else { return submitDirectly { $0.didSendBody(count, in: attempt) } }
        onEngineThread.didSendBody(count, in: attempt)
    }

    fileprivate nonisolated func ended(_ end: TransportEnd, in attempt: ExchangeState.Attempt) {
        guard executor.isCurrent else { return submitEnd(end, in: attempt) }
        onEngineThread.didEnd(end, in: attempt)
    }

    /// Separate, because a closure copies the end even where it is not made.
    @inline(never)
    private nonisolated func submitEnd(_ end: TransportEnd, in attempt: ExchangeState.Attempt) {
        submitDirectly { $0.didEnd(end, in: attempt) }
    }
}
