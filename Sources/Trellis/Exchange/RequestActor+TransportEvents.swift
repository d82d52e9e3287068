import CurlEngine
import FoundationEssentials

/// The transport's calls, from whatever thread they come.
extension RequestActor: TransportEvents {
    nonisolated func transportIsConnected() {
        if executor.isCurrent { return onEngineThread.connected() }
        enter { $0.connected() }
    }

    nonisolated func transportDidReceiveInformational(_ head: ResponseHead) {
        enter { $0.receivedInformational(head) }
    }

    nonisolated func transportDidReceiveHead(_ head: ResponseHead) {
        if executor.isCurrent { return onEngineThread.received(head) }
        enter { $0.received(head) }
    }

    nonisolated func transportDidReceiveBody(_ bytes: RawSpan) {
        if executor.isCurrent { return onEngineThread.received(bytes) }
        let copy = [UInt8](copying: bytes)
        enter { request in copy.withBytes { request.received($0) } }
    }

    nonisolated func transportNeedsBody() { enter { $0.roomForBody() } }

    nonisolated func transportDidSendBody(_ count: Int) {
        if executor.isCurrent { return onEngineThread.sentBody(count) }
        enter { $0.sentBody(count) }
    }

    nonisolated func transportDidEnd(_ end: TransportEnd) {
        if executor.isCurrent { return onEngineThread.ended(end) }
        enter { $0.ended(end) }
    }
}
