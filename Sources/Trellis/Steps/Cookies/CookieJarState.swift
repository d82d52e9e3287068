import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The cookies of a jar, with the results of the last lookups: programs request the same URLs repeatedly, and servers set the same cookies
/// in each response.
struct CookieJarState {
    /// The results for one URL, each with the version of the cookies for which it holds.
    private final class Visit {
        let text: String
        /// The parsed URL; `nil` if no cookies are for the URL.
        let url: CookieURL?
        var sent: Sent?
        var received: Received?

        init(_ text: String) {
            self.text = text
            url = CookieURL(text)
        }
    }

    /// The field with the cookies for a URL.
    private final class Sent {
        let version: Int
        let cookies: [Cookie]
        /// The field of a request without cookies of its own; `nil` if there are no cookies.
        let field: HTTPField?
        let spots: [CookieStore.Spot]

        init(_ store: inout CookieStore, for url: CookieURL, at now: Date) {
            let found = store.entries(for: url, at: now)
            version = store.version
            cookies = found.map(\.entry.cookie)
            field = Cookie.field(cookies).map { HTTPField(name: .cookie, value: $0) }
            spots = found.map(\.spot)
        }
    }

    /// The `Set-Cookie` fields of the last response from a URL.
    private final class Received {
        let version: Int
        let fields: [[UInt8]]
        let renewals: [CookieStore.Renewal]

        init(_ fields: [String], _ store: inout CookieStore, from url: CookieURL, at now: Date) {
            renewals = store.receiveRepeated(fields, from: url, at: now)
            version = store.version
            self.fields = fields.map { OctetText.octets($0) }
        }
    }

    private static let slotCount = 64

    var store: CookieStore
    private var visits = [Visit?](repeating: nil, count: slotCount)

    init(_ store: CookieStore) { self.store = store }

    /// Returns a request with the cookies of its URL after its own.
    mutating func adding(to request: Request, at now: Date) -> Request {
        let visit = visit(to: request.url)
        guard let url = visit.url else { return request }
        store.removeExpired(at: now)
        let sent: Sent
        if let known = visit.sent, known.version == store.version {
            sent = known
            for spot in sent.spots { store.touch(spot, at: now) }
        } else {
            sent = Sent(&store, for: url, at: now)
            visit.sent = sent
        }
        guard let field = sent.field else { return request }
        return request.headers.contains(.cookie) ? request.adding(sent.cookies) : request.withHeader(field)
    }

    /// Stores the cookies that the response to a request sets.
    mutating func keep(_ head: ResponseHead, from url: String, at now: Date) {
        let visit = visit(to: url)
        guard let url = visit.url, let isRepeated = head.hasValues(of: .setCookie, visit.received?.fields ?? []) else {
            return
        }
        store.removeExpired(at: now)
        if isRepeated, let received = visit.received, received.version == store.version {
            for renewal in received.renewals { store.renew(renewal, at: now) }
        } else {
            visit.received = Received(head.texts(of: .setCookie), &store, from: url, at: now)
        }
    }

    private mutating func visit(to url: String) -> Visit {
        let slot = Int(url.slotNumber % UInt(Self.slotCount))
        if let visit = visits[slot], visit.text.hasSameBytes(as: url) { return visit }
        let visit = Visit(url)
        visits[slot] = visit
        return visit
    }
}
