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
        let structure: Int
        private let spots: [CookieStore.Spot]
        /// Whether cookies were left out because of the limit on the field. They may fit when a value has changed.
        private let isCut: Bool
        private var version: Int
        /// The field of a request without cookies of its own, in the array that requests take it from; empty if there are no cookies.
        private(set) var fields: [HTTPField]

        init(_ store: inout CookieStore, for url: CookieURL, at now: Date) {
            let (found, isCut) = store.entries(for: url, at: now)
            self.isCut = isCut
            structure = store.structure
            version = store.version
            spots = found.map(\.spot)
            fields = Cookie.field(found.map(\.entry.cookie)).map { [HTTPField(name: .cookie, value: $0)] } ?? []
        }

        /// Records the use of the cookies, and joins them again if a value has changed. Returns `false` if not all of them fit any more.
        func update(_ store: inout CookieStore, at now: Date) -> Bool {
            for spot in spots { store.touch(spot, at: now) }
            guard version != store.version else { return true }
            if isCut { return false }
            version = store.version
            guard !spots.isEmpty else { return true }
            guard let text = store.field(spots) else { return false }
            let field = HTTPField(name: .cookie, value: text)
            // Requests have taken the field from the array, which keeps its memory.
            if fields.isEmpty { fields = [field] } else { fields[0] = field }
            return true
        }

        /// The cookies, in their order.
        func cookies(_ store: CookieStore) -> [Cookie] { spots.map { store.cookie(at: $0) } }
    }

    /// The `Set-Cookie` fields of the last response from a URL.
    private final class Received {
        let structure: Int
        private let fields: [[UInt8]]
        private let renewals: [CookieStore.Renewal]
        /// The parts of the only field around the cookie's value; `nil` if there are several fields, or if the value is not plain.
        private let template: CookieTemplate?

        init(_ fields: [[UInt8]], _ store: inout CookieStore, from url: CookieURL, at now: Date) {
            renewals = store.receiveRepeated(fields.map { OctetText.text($0.span) }, from: url, at: now)
            structure = store.structure
            self.fields = fields
            template = fields.count == 1 && renewals.count == 1 ? CookieTemplate(fields[0]) : nil
        }

        /// Stores the cookies of fields that differ from the last ones in nothing, or in the value of the only cookie. Returns `false` if
        /// they differ in something else.
        func renew(_ fields: [[UInt8]], _ store: inout CookieStore, at now: Date) -> Bool {
            if fields == self.fields {
                for renewal in renewals { store.renew(renewal, at: now) }
                return true
            }
            guard fields.count == 1, let value = template?.value(in: fields[0]) else { return false }
            store.renew(renewals[0], value: value, at: now)
            return true
        }
    }

    private static let slotCount = 64

    var store: CookieStore
    private var visits = [Visit?](repeating: nil, count: slotCount)
    /// The visit that was found last. Further requests to its URL need no slot.
    private var latest: Visit?

    init(_ store: CookieStore) { self.store = store }

    /// Returns a request with the cookies of its URL after its own.
    mutating func adding(to request: Request, at now: Date) -> Request {
        let visit = visit(to: request.url)
        guard let url = visit.url else { return request }
        store.removeExpired(at: now)
        let sent: Sent
        if let known = visit.sent, known.structure == store.structure, known.update(&store, at: now) {
            sent = known
        } else {
            sent = Sent(&store, for: url, at: now)
            visit.sent = sent
        }
        guard !sent.fields.isEmpty else { return request }
        return request.headers.contains(.cookie)
            ? request.adding(sent.cookies(store)) : request.withFields(sent.fields, of: .cookie)
    }

    /// Stores the cookies that the response to a request sets.
    mutating func keep(_ head: ResponseHead, from url: String, at now: Date) {
        let fields = head.octets(of: .setCookie)
        guard !fields.isEmpty else { return }
        let visit = visit(to: url)
        guard let url = visit.url else { return }
        store.removeExpired(at: now)
        if let received = visit.received, received.structure == store.structure,
            received.renew(fields, &store, at: now)
        {
            return
        }
        visit.received = Received(fields, &store, from: url, at: now)
    }

    private mutating func visit(to url: String) -> Visit {
        if let latest, latest.text.hasSameBytes(as: url) { return latest }
        let slot = Int(url.slotNumber % UInt(Self.slotCount))
        if let visit = visits[slot], visit.text.hasSameBytes(as: url) {
            latest = visit
            return visit
        }
        let visit = Visit(url)
        // A password in the URL is not kept.
        if url.utf8.contains(UInt8(ascii: "@")) { return visit }
        (visits[slot], latest) = (visit, visit)
        return visit
    }
}
