import CurlEngine
import FoundationEssentials
@_spi(Transport) import TrellisTesting

@_spi(Transport) @testable import TrellisCore

/// A transport that reports events before `start` has returned.
final class EarlyTransport: Transport {
    /// An attempt, which takes no notice of its commands but the cancellation.
    final class Attempt: TransportTask {
        let request: TransportRequest
        private let cancelled = Locked(false)

        init(_ request: TransportRequest) { self.request = request }

        var isCancelled: Bool { cancelled.withLock { $0 } }

        func cancel() { cancelled.withLock { $0 = true } }
        func pauseReceiving(_ isPaused: Bool) {}
        func suspend(_ isSuspended: Bool) {}
        func send(_ chunk: Data) {}
        func finishSending() {}
    }

    private let started = Locked<[Attempt]>([])
    private let respond: @Sendable (Int, TransportRequest, any TransportEvents) -> Void

    /// Creates a transport.
    ///
    /// - Parameter respond: Reports the events of an attempt, given its number from 1 and its request.
    init(_ respond: @escaping @Sendable (Int, TransportRequest, any TransportEvents) -> Void) { self.respond = respond }

    /// The attempts in the order of their starts.
    var attempts: [Attempt] { started.withLock { $0 } }

    func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
        let attempt = Attempt(request)
        let number = started.withLock { attempts in
            attempts.append(attempt)
            return attempts.count
        }
        respond(number, request, events)
        return attempt
    }
}
