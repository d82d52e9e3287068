import CurlEngine
import FoundationEssentials

/// The transport's calls, from whatever thread they come.
extension RequestActor: TransportEvents {
    nonisolated func transportIsConnected() {
        if executor.isCurrent { return onEngineThread.connected() }
        enter { $0.connected() }
    }

    nonisolated func transportDidReceiveInformational(_ head: ResponseHead) {
        enter { request in
            request.informational.append(head)
            request.prepared.history?.tell(.informational(head))
        }
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

    nonisolated func transportNeedsBody() { enter { $0.pump?.transportHasRoom() } }

    nonisolated func transportDidEnd(_ end: TransportEnd) {
        if executor.isCurrent { return onEngineThread.ended(end) }
        enter { $0.ended(end) }
    }
}
