package import CurlEngine
import FoundationEssentials

/// The transport that uses libcurl on the session's engine thread.
package struct LibcurlTransport: Transport {
    private let engine: CurlEngine

    /// Creates the transport of an engine.
    package init(executor: EngineExecutor, configuration: EngineConfiguration) {
        engine = CurlEngine(executor: executor, configuration: configuration)
    }

    /// Starts a transfer of libcurl.
    package func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
        let task = LibcurlTask(engine.makeTransfer(request.wire), events: events)
        engine.start(task.transfer, delegate: task)
        return task
    }

    /// The number of open sockets. Call only on the engine thread.
    package var openSocketCount: Int { engine.openSocketCount }
}

extension LibcurlTransport: ConnectionPool {
    package func closeIdleConnections(to origin: String?) { engine.closeIdleConnections(to: origin) }
    package func onIdle(_ body: @escaping @Sendable () -> Void) { engine.onIdle(body) }
}

/// A libcurl transfer as a transport task.
final class LibcurlTask: FileTransportTask, WaitingTransportTask, TransferDelegate {
    /// The transfer, which belongs to the engine thread, on which every member is called.
    let transfer: Transfer
    private let events: any TransportEvents

    init(_ transfer: Transfer, events: any TransportEvents) {
        self.transfer = transfer
        self.events = events
    }

    // MARK: Calls from the exchange

    func cancel() { transfer.cancel() }
    func pauseReceiving(_ isPaused: Bool) { transfer.pauseReceiving(isPaused) }
    func suspend(_ isSuspended: Bool) { transfer.suspend(isSuspended) }
    func send(_ chunk: Data) { transfer.send(chunk) }
    func send(_ file: FileReader) { transfer.send(file) }
    func finishSending() { transfer.finishSending() }
    func stopSending() { transfer.stopSending() }
    func pauseSending(_ isPaused: Bool) { transfer.pauseSending(isPaused) }
    var awaitsBody: Bool { transfer.awaitsBody }
    var countsSentBody: Bool { true }
    var receivedBodyBytes: Int64? { transfer.receivedBodyBytes }
    var report: TransportReport { TransportReport(transfer.report) }
    var activity: TransportActivity? {
        let times = transfer.times
        return TransportActivity(last: times.last, lastSend: times.lastSend)
    }

    var addedConnection: AddedConnection? { transfer.addedConnection }
    var reasonForWaiting: String? { transfer.reasonForWaiting }
    var sharesConnection: Bool { transfer.sharesConnection }

    // MARK: Calls from libcurl

    func transferIsConnected() { events.transportIsConnected() }

    func transferDidReceiveInformational(_ head: WireHead) {
        events.transportDidReceiveInformational(ResponseHead(head))
    }

    func transferDidReceiveHead(_ head: consuming WireHead) { events.transportDidReceiveHead(ResponseHead(head)) }

    func transferDidReceiveBody(_ bytes: RawSpan) { events.transportDidReceiveBody(bytes) }

    func transferNeedsBody() { events.transportNeedsBody() }

    func transferDidSendBody(_ count: Int) { events.transportDidSendBody(count) }

    func transferDidEnd(_ end: consuming TransferEnd) {
        events.transportDidEnd(
            TransportEnd(
                failure: end.failure.map(TransportFailure.init),
                trailers: end.trailers.count == 0 ? HTTPFields() : HTTPFields(end.trailers),
                report: TransportReport(end.report)))
    }
}
