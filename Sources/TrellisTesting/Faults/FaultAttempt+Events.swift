import CurlEngine
import HTTPTypes
@_spi(Transport) import TrellisCore

/// The events of the other attempt. Events of the response wait for the faults; the others are passed on at once.
extension FaultAttempt {
    /// An event of the response.
    enum Event: Sendable {
        case connected
        case informational(ResponseHead)
        case head(ResponseHead)
        case switched(ResponseHead, any DuplexConnection)
        case body([UInt8])
        case end(TransportEnd)
    }

    /// Passes on an event after its faults. Returns whether further events may follow.
    func deliver(_ event: Event, _ response: inout FaultedResponse) async throws -> Bool {
        switch event {
        case .connected: reportConnection()
        case .informational(let head):
            try await passage { !$0.wanted.isSuspended }
            events.transportDidReceiveInformational(head)
        case .switched(let head, let connection):
            for fault in faults where fault.moment == .responseHead { try await play(fault) }
            guard let receiver = events as? any ConnectionTransportEvents else {
                events.transportDidReceiveHead(head)
                return true
            }
            receiver.transportDidSwitchProtocols(head, connection)
        case .head(let head):
            reportConnection()
            for fault in faults where fault.moment == .responseHead { try await play(fault) }
            try await passage { !$0.wanted.isSuspended }
            for fault in faults where fault.isWrongLength { begin(fault) }
            events.transportDidReceiveHead(response.begin(head, of: request))
        case .body(let bytes):
            defer {
                state.update { $0.backlog -= bytes.count }
                applyFlow()
            }
            try await deliver(response.take(bytes), &response)
        case .end(let end):
            if end.failure == nil { try await playAtEnd(&response) }
            try await passage { !$0.wanted.isSuspended }
            state.update { ($0.inner, $0.lastReport) = (nil, end.report) }
            events.transportDidEnd(end)
            return false
        }
        return true
    }

    private func deliver(_ bytes: [UInt8], _ response: inout FaultedResponse) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            switch response.step(available: rest.count) {
            case .play(let fault): try await play(fault)
            case .wait(let fault, let pause): try await drip(fault, pause: pause, &response)
            case .send(let count):
                try await passage { !$0.wanted.isPaused && !$0.wanted.isSuspended }
                Array(rest.prefix(count)).withBytes { events.transportDidReceiveBody($0) }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Waits before a piece of a drip. The pauses are counted from the beginning of the first one, so that a clock that is moved over
    /// several of them ends all of these.
    private func drip(_ fault: Fault, pause: Duration, _ response: inout FaultedResponse) async throws {
        let end = (response.lastPause ?? elapsed) + pause
        if response.lastPause == nil { begin(fault) }
        response.lastPause = end
        try await wait(until: end, after: pause)
    }

    private func playAtEnd(_ response: inout FaultedResponse) async throws {
        guard response.hasBody else { return }
        if let fault = response.body.stepAtEnd() { try await play(fault) }
        for fault in faults where fault.moment == .end { try await play(fault) }
        // A body that is longer than its length is no failure, and has none here.
        for fault in faults where fault.isWrongLength { if let failure = fault.failure { throw failure } }
    }
}

extension FaultAttempt: ConnectionTransportEvents {
    func transportIsConnected() { arrive(.connected) }

    func transportDidReceiveInformational(_ head: ResponseHead) { arrive(.informational(head)) }

    func transportDidReceiveHead(_ head: ResponseHead) { arrive(.head(head)) }

    func transportDidSwitchProtocols(_ head: ResponseHead, _ connection: any DuplexConnection) {
        arrive(.switched(head, connection))
    }

    func transportDidReceiveBody(_ bytes: RawSpan) {
        let copy = [UInt8](copying: bytes)
        state.update { $0.backlog += copy.count }
        applyFlow()
        arrive(.body(copy))
    }

    func transportDidEnd(_ end: TransportEnd) { arrive(.end(end)) }

    private func arrive(_ event: Event) { state.update { $0.arrived.append(event) } }

    func transportNeedsBody() { events.transportNeedsBody() }

    func transportDidSendBody(_ count: Int) { events.transportDidSendBody(count) }

    func transportDidReceiveCertificates(_ chain: CertificateChain?) {
        (events as? any ConnectionTransportEvents)?.transportDidReceiveCertificates(chain)
    }
}
