import CurlEngine
import FoundationEssentials

/// The events of the transport, from any thread.
///
/// Events of an attempt that was dropped, because the server did not meet its expectation, are ignored: ``LaterAttempt`` receives
/// the events of the attempt that replaced it.
extension ExchangeActor: TransportEvents {
    nonisolated func transportIsConnected() {
        if executor.isCurrent { return first?.connected() ?? () }
        enter { $0.first?.connected() }
    }

    nonisolated func transportDidReceiveInformational(_ head: ResponseHead) {
        enter { if $0.first != nil { $0.receivedInformational(head) } }
    }

    nonisolated func transportDidReceiveHead(_ head: ResponseHead) {
        if executor.isCurrent { return first?.received(head) ?? () }
        enter { $0.first?.received(head) }
    }

    nonisolated func transportDidReceiveBody(_ bytes: RawSpan) {
        if executor.isCurrent { return first?.received(bytes) ?? () }
        let copy = [UInt8](copying: bytes)
        enter { request in
            if let first = request.first { copy.withBytes { first.received($0) } }
        }
    }

    nonisolated func transportNeedsBody() { enter { if $0.first != nil { $0.roomForBody() } } }

    nonisolated func transportDidSendBody(_ count: Int) {
        if executor.isCurrent { return first?.sentBody(count) ?? () }
        enter { $0.first?.sentBody(count) }
    }

    nonisolated func transportDidEnd(_ end: TransportEnd) {
        if executor.isCurrent { return first?.ended(end) ?? () }
        enter { $0.first?.ended(end) }
    }

    /// The exchange, on its engine thread, as long as its first attempt is its present one.
    private nonisolated var first: (any ExchangeEntry)? {
        let request = onEngineThread
        return request.expectation == .dropped ? nil : request
    }
}

/// The receiver of the transport's events for the attempt that is sent without an expectation, after the first one was dropped.
final class LaterAttempt: TransportEvents {
    private let request: ExchangeActor

    init(_ request: ExchangeActor) { self.request = request }

    func transportIsConnected() { enter { $0.connected() } }

    func transportDidReceiveInformational(_ head: ResponseHead) { enter { $0.receivedInformational(head) } }

    func transportDidReceiveHead(_ head: ResponseHead) { enter { $0.received(head) } }

    func transportDidReceiveBody(_ bytes: RawSpan) {
        if request.executor.isCurrent { return request.onEngineThread.received(bytes) }
        let copy = [UInt8](copying: bytes)
        enter { request in copy.withBytes { request.received($0) } }
    }

    func transportNeedsBody() { request.enter { $0.roomForBody() } }

    func transportDidSendBody(_ count: Int) { enter { $0.sentBody(count) } }

    func transportDidEnd(_ end: TransportEnd) { enter { $0.ended(end) } }

    private func enter(_ body: @escaping @Sendable (any ExchangeEntry) -> Void) {
        let executor = request.executor
        if executor.isCurrent { return body(request.onEngineThread) }
        executor.submit { [request] in body(request.onEngineThread) }
    }
}
