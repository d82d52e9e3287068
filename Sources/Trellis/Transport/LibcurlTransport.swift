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
        let task = LibcurlTask(events: events)
        task.begin(engine.start(request.wire, delegate: task))
        return task
    }

    /// The number of open sockets. Call only on the engine thread.
    package var openSocketCount: Int { engine.openSocketCount }
}

/// A libcurl transfer as a transport task.
final class LibcurlTask: FileTransportTask, WaitingTransportTask, TransferDelegate, @unchecked Sendable {
    // Unchecked: `transfer` is set once, on the engine thread, before the task is shared, and is only read afterwards. The transfer belongs
    // to the engine thread, on which every member is called.
    private var transfer: Transfer?
    private let events: any TransportEvents

    init(events: any TransportEvents) { self.events = events }

    func begin(_ transfer: Transfer) { self.transfer = transfer }

    // MARK: Calls from the exchange

    func cancel() { transfer?.cancel() }
    func pauseReceiving(_ isPaused: Bool) { transfer?.pauseReceiving(isPaused) }
    func suspend(_ isSuspended: Bool) { transfer?.suspend(isSuspended) }
    func send(_ chunk: Data) { transfer?.send(chunk) }
    func send(_ file: FileReader) { transfer?.send(file) }
    func finishSending() { transfer?.finishSending() }
    func stopSending() { transfer?.stopSending() }
    func pauseSending(_ isPaused: Bool) { transfer?.pauseSending(isPaused) }
    var awaitsBody: Bool { transfer?.awaitsBody ?? false }
    var countsSentBody: Bool { true }
    var receivedBodyBytes: Int64? { transfer?.receivedBytes }
    var report: TransportReport { transfer.map { TransportReport($0.report) } ?? TransportReport() }
    var activity: TransportActivity? {
        transfer.map { TransportActivity(last: $0.times.last, lastSend: $0.times.lastSend) }
    }

    var reasonForWaiting: String? { transfer?.reasonForWaiting }
    var sharesConnection: Bool { transfer?.sharesConnection ?? false }

    // MARK: Calls from libcurl

    func transferIsConnected() { events.transportIsConnected() }

    func transferDidReceiveInformational(_ head: WireHead) {
        events.transportDidReceiveInformational(ResponseHead(head))
    }

    func transferDidReceiveHead(_ head: WireHead) { events.transportDidReceiveHead(ResponseHead(head)) }

    func transferDidReceiveBody(_ bytes: RawSpan) { events.transportDidReceiveBody(bytes) }

    func transferNeedsBody() { events.transportNeedsBody() }

    func transferDidSendBody(_ count: Int) { events.transportDidSendBody(count) }

    func transferDidEnd(_ end: TransferEnd) {
        events.transportDidEnd(
            TransportEnd(
                failure: end.failure.map(TransportFailure.init),
                trailers: end.trailers.count == 0 ? HTTPFields() : HTTPFields(end.trailers),
                report: TransportReport(end.report)))
    }
}
