import CurlEngine
import FoundationEssentials
import HTTPTypes
@_spi(Transport) import TrellisCore

/// An attempt of a ``CassetteTransport``: the events of a replay or of a recording, and the commands of the session under test.
final class CassetteExchange: CommandedTask {
    /// A closure that plays an attempt and returns its end.
    typealias Performance = @Sendable (CassetteExchange) async throws -> TransportEnd

    let request: TransportRequest
    private let events: any TransportEvents
    private let performance: Performance
    let commands: AttemptCommands
    private let isConnected = Locked(false)

    init(_ request: TransportRequest, events: any TransportEvents, _ performance: @escaping Performance) {
        self.request = request
        self.events = events
        self.performance = performance
        commands = AttemptCommands(request)
    }

    /// Begins the attempt, in a task without the values of the present one: a transport that takes the place of others for the present
    /// task is this one, and does not apply to the requests that are recorded.
    func begin() {
        let work = ClockWork.beginning(of: request.callNumber) { await self.run() }
        commands.run(in: Task.detached { await work() })
    }

    // MARK: Commands of the session

    func send(_ chunk: Data) {
        commands.update { $0.chunks.append(chunk) }
        events.transportNeedsBody()
    }

    var awaitsBody: Bool { !commands.value.isBodyComplete }

    // MARK: Events

    /// Waits for the body of the request, and returns it, if any. A body that is sent in chunks needs a connection first.
    func requestBody() async throws -> Data? {
        guard request.hasStreamedBody else {
            guard case .data(let data)? = request.source.body?.source else { return nil }
            return data
        }
        try await commands.waitUntilResumed()
        connect()
        try await commands.wait { $0.isBodyComplete && !$0.isSuspended }
        return Data(commands.value.chunks.joined())
    }

    /// The fields after the body of the request, once ``requestBody()`` has returned; `nil` if there are none.
    var requestTrailers: HTTPFields? { commands.value.trailers }

    /// Reports that the connection is ready, once.
    func connect() {
        isConnected.withLock { isConnected in
            guard !isConnected else { return }
            isConnected = true
            // Within the lock, because no other event may be earlier.
            events.transportIsConnected()
        }
    }

    func receiveInformational(_ head: ResponseHead) async throws {
        try await commands.waitUntilResumed()
        events.transportDidReceiveInformational(head)
    }

    func receive(_ head: ResponseHead) async throws {
        try await commands.waitUntilResumed()
        events.transportDidReceiveHead(head)
    }

    func receive(_ bytes: Data) async throws {
        guard !bytes.isEmpty else { return }
        try await commands.waitUntilRead()
        [UInt8](bytes).withBytes { events.transportDidReceiveBody($0) }
    }

    /// Whether the session has given the attempt up.
    var isCancelled: Bool { commands.value.isCancelled }

    private func run() async {
        var end: TransportEnd
        do {
            end = try await performance(self)
            try await commands.waitUntilResumed()
        } catch let failure as TransportFailure {
            end = TransportEnd(failure: failure)
        } catch {
            end = TransportEnd(failure: TransportFailure(.other("\(error)")))
        }
        if !isCancelled { events.transportDidEnd(end) }
    }
}
