import CurlEngine

/// The last request of a call: the one that was sent, or that a stored response answers. Until then, the caller's.
///
/// Attempts that run concurrently have one each.
package final class LastRequest: Sendable {
    private let latest: Locked<any SentRequest>
    /// The last request of all attempts; `nil` if this is that.
    private let ofCall: LastRequest?

    init(_ first: any SentRequest) {
        latest = Locked(first)
        ofCall = nil
    }

    /// Creates the last request of an attempt that runs beside others.
    init(besideOthersOf call: LastRequest) {
        latest = Locked(call.value)
        ofCall = call
    }

    var value: any SentRequest { latest.withLock { $0 } }

    package func note(_ request: any SentRequest) {
        latest.withLock { $0 = request }
        ofCall?.note(request)
    }
}
