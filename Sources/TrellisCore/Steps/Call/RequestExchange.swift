import CurlEngine

/// An exchange of a request: a request on the wire, in one of its attempts.
public struct RequestExchange: Sendable {
    /// The number of the attempt, from 1. Redirects belong to the attempt that received them.
    public let attempt: Int
    /// The request as it was sent.
    public var request: Request { prepared.request }
    /// The metrics of the exchange; for a stream, up to the head of its response.
    public let metrics: Metrics
    /// The request of the exchange, kept so that its identity stays its own.
    let prepared: PreparedRequest
}

extension Call {
    /// The number of exchanges that a handle shows at most: the last ones of a call that is retried without end.
    static let maximumExchanges = 1_000
    /// The number of exchanges that may be under way at a time, of which each may be recorded twice.
    private static let recentExchanges = 64

    /// Records an exchange that has ended, if the call has a handle that shows exchanges.
    func record(_ prepared: PreparedRequest, _ metrics: Metrics?, attempt: Int) {
        existingRecord?.withLock { record in
            let recent = record.exchanges?.suffix(Self.recentExchanges)
            guard recent?.contains(where: { $0.prepared === prepared }) == false else { return }
            if record.exchanges?.count == Self.maximumExchanges {
                record.exchanges?.removeFirst(Self.maximumExchanges / 10)
            }
            record.exchanges?.append(
                RequestExchange(attempt: attempt, metrics: metrics ?? Metrics(), prepared: prepared))
        }
    }
}
