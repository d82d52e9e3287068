import CurlEngine
package import FoundationEssentials
@_spi(Transport) package import TrellisCore

/// A transport that reports events before `start` has returned.
package final class EarlyTransport: Transport {
    /// An attempt, which takes no notice of its commands but the cancellation.
    package final class Attempt: TransportTask {
        package let request: TransportRequest
        private let cancelled = Locked(false)

        package init(_ request: TransportRequest) { self.request = request }

        package var isCancelled: Bool { cancelled.withLock { $0 } }

        package func cancel() { cancelled.withLock { $0 = true } }
        package func pauseReceiving(_ isPaused: Bool) {}
        package func suspend(_ isSuspended: Bool) {}
        package func send(_ chunk: Data) {}
        package func finishSending() {}
    }

    private let started = Locked<[Attempt]>([])
    private let respond: @Sendable (Int, TransportRequest, any TransportEvents) -> Void

    /// Creates a transport.
    ///
    /// - Parameter respond: Reports the events of an attempt, given its number from 1 and its request.
    package init(_ respond: @escaping @Sendable (Int, TransportRequest, any TransportEvents) -> Void) {
        self.respond = respond
    }

    /// The attempts in the order of their starts.
    package var attempts: [Attempt] { started.withLock { $0 } }

    package func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
        let attempt = Attempt(request)
        let number = started.withLock { attempts in
            attempts.append(attempt)
            return attempts.count
        }
        respond(number, request, events)
        return attempt
    }
}
