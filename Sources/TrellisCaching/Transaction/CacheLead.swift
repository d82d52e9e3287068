import CurlEngine
import HTTPTypes
import TrellisCore

/// An exchange for whose response equal requests wait.
struct CacheLead: Sendable {
    let lookup: CacheLookup
    let cache: HTTPCache
    let ticket: CacheTicket
    /// The instant at which the exchange began.
    let start: CacheTime

    /// Ends the wait of the equal requests if the head of the response shows that the response is not going to be stored: each of them is
    /// sent then, while the body of this response arrives.
    ///
    /// A wait that does not end here ends with the body.
    func endWaitIfUnstorable(_ head: ResponseHead) {
        guard !Self.isUndecided(head.status), !Self.hasShortBody(head) else { return }
        // The present instant would be asked of the user's code, which does not run on an engine thread.
        let received = StoredHead(
            head, requestTime: start, responseTime: start, cacheHeaderLengths: cache.cacheHeaderLengths)
        if lookup.refusal(of: received) == nil {
            var stored = CachedHead(received, request: lookup.fields.headers)
            if case .storable = lookup.storability(of: stored.judge(cache.rules), method: lookup.request.method) {
                return
            }
        }
        ticket.settle(.notStored)
    }

    /// Returns whether a response with a status need not be the response to the request: a 304 is about a stored one, instead of a failure
    /// a stored one may be used, and after a 407 or a 421 the request may be sent again.
    static func isUndecided(_ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 304, 407, 421, 500...: true
        default: false
        }
    }

    private static let contentLengthName = Array("content-length".utf8)

    /// Returns whether the end of a body is likely to come with its head. The response is handled at its end anyway.
    private static func hasShortBody(_ head: ResponseHead) -> Bool {
        let length =
            if let fields = head.wireFields {
                fields.firstValueLength(of: contentLengthName)
            } else {
                head.headers[.contentLength]?.utf8.count
            }
        return length.map { $0 <= 4 } ?? false
    }
}
