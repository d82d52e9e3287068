import CurlEngine
import HTTPTypes

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
        // A 304 is about a stored response, a part may complete one, and in place of a failure a stored one may be used.
        guard head.status.code < 500, head.status != .notModified, head.status != .partialContent,
            !Self.hasShortBody(head)
        else { return }
        // The present instant would be asked of the user's code, which does not run on an engine thread.
        let received = StoredHead(
            head, requestTime: start, responseTime: start, decidingLengths: cache.decidingLengths)
        if lookup.refusal(of: received) == nil {
            var stored = CachedHead(received, request: lookup.fields.headers)
            if case .storable = lookup.storability(of: stored.judge(cache.policy), method: lookup.request.method) {
                return
            }
        }
        ticket.settle(.notStored)
    }

    /// Returns whether the end of a body is likely to come with its head. The response is handled at its end anyway.
    private static func hasShortBody(_ head: ResponseHead) -> Bool {
        guard let length = head.octets(of: .contentLength).first else { return false }
        return length.count <= 4
    }
}

/// The readers of a response for which equal requests wait.
final class CacheHeadReader: HeadValidator {
    /// The exchange until its head has come. The ticket is given back then.
    private let lead: Locked<CacheLead?>
    private let readers: (any HeadValidator)?

    init(_ lead: CacheLead, _ readers: (any HeadValidator)?) {
        self.lead = Locked(lead)
        self.readers = readers
    }

    func refuses(_ head: ResponseHead, of request: Request) -> Bool { readers?.refuses(head, of: request) ?? false }

    func didReceive(_ head: ResponseHead) { lead.withLock { $0.take() }?.endWaitIfUnstorable(head) }
}
