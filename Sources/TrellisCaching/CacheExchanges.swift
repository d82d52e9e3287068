import CurlEngine
private import Synchronization
import TrellisCore

/// The exchanges of a cache that are under way, and the requests that wait for their responses.
///
/// A response is not stored if its request began before an invalidation of its URL, or before the request of a stored response of the same
/// variant: it may be older. The first of equal requests leads: the others wait for its response.
final class CacheExchanges: Sendable {
    /// The part of a request among equal ones.
    enum Role: Sendable {
        /// The request is sent, and others wait for its response.
        case leader(CacheTicket)
        /// The request waits.
        case waiter(CacheFlight)
    }

    /// A request that leads.
    private struct Lead {
        /// The number of its ticket.
        let number: UInt64
        /// The selection of a known variant by the request, with the range that it asks for; `nil` if there is neither.
        let variant: String?
        /// The requests that wait; `nil` before the first one.
        var flight: CacheFlight?

        func isEqual(to variant: String?) -> Bool {
            guard let own = self.variant, let variant else { return self.variant == nil && variant == nil }
            return own.hasSameBytes(as: variant)
        }

        /// Returns the bytes of a variant's text, which distinguish it; `nil` if none is known.
        static func name(of variant: String?) -> [UInt8]? { variant.map { Array($0.utf8) } }
    }

    private struct Record {
        /// The largest number of variants that are told apart.
        static let maximumVariantCount = 64

        /// The key whose exchanges are under way; any key if the record is free.
        var key: CacheKey
        /// The number of exchanges under way; zero if the record is free.
        var count = 0
        /// The number of the last invalidation.
        var invalidation: UInt64 = 0
        /// The numbers of the exchanges whose responses were stored last, by variant.
        var stored: [String: UInt64] = [:]
        /// The largest number of those that were forgotten, because there were too many. No exchange up to it may store.
        var forgotten: UInt64 = 0
        /// The request that leads. Most keys have one variant.
        var lead: Lead?
        /// The requests that lead for other variants, by the names of these.
        var otherLeads: [[UInt8]?: Lead] = [:]

        /// Returns whether the response of an exchange may be stored, and records that it is.
        mutating func admits(_ number: UInt64, _ variant: String) -> Bool {
            guard invalidation < number, forgotten < number, stored[variant] ?? 0 < number else { return false }
            // An exchange that is alone precedes only those that begin later.
            guard count > 1 else { return true }
            if stored.count >= Self.maximumVariantCount, stored[variant] == nil {
                forgotten = stored.values.reduce(forgotten) { max($0, $1) }
                stored = [:]
            }
            stored[variant] = number
            return true
        }

        /// Returns whether neither an invalidation nor a newer response of the variant has come since an exchange began.
        func isLatest(_ number: UInt64, _ variant: String) -> Bool {
            guard invalidation < number, forgotten <= number else { return false }
            return stored.isEmpty || stored[variant] ?? 0 <= number
        }

        /// Returns the flight of the request that leads for a variant; `nil` if there is none.
        mutating func flight(_ variant: String?) -> CacheFlight? {
            if let lead, lead.isEqual(to: variant) {
                if let flight = lead.flight { return flight }
                let flight = CacheFlight()
                self.lead?.flight = flight
                return flight
            }
            guard !otherLeads.isEmpty else { return nil }
            let name = Lead.name(of: variant)
            guard var other = otherLeads[name] else { return nil }
            if let flight = other.flight { return flight }
            let flight = CacheFlight()
            other.flight = flight
            otherLeads[name] = other
            return flight
        }

        /// Adds a request that leads.
        mutating func add(_ new: Lead) {
            if lead == nil { lead = new } else { otherLeads[Lead.name(of: new.variant)] = new }
        }

        /// Ends the lead of an exchange. Returns the flight of the requests that wait; `nil` if none does, or the exchange does not lead
        /// any more, also if the record is another key's now: no two exchanges have the same number.
        mutating func endLead(_ number: UInt64, _ variant: String?) -> CacheFlight? {
            if lead?.number == number {
                let flight = lead?.flight
                lead = nil
                return flight
            }
            guard !otherLeads.isEmpty else { return nil }
            let name = Lead.name(of: variant)
            guard let ended = otherLeads[name], ended.number == number else { return nil }
            otherLeads.removeValue(forKey: name)
            return ended.flight
        }

        /// Ends an exchange.
        ///
        /// - Parameters:
        ///   - variant: The variant that the exchange leads for.
        ///   - stored: The variant of a response that was stored just now; `nil` if none was.
        mutating func end(_ number: UInt64, leadingFor variant: String?, storing stored: String?) -> EndedExchange {
            let flight = endLead(number, variant)
            count -= 1
            guard let stored else { return EndedExchange(isLatest: false, flight: flight) }
            return EndedExchange(isLatest: isLatest(number, stored), flight: flight)
        }

        /// Frees the record of a key without exchanges.
        mutating func free() {
            (invalidation, forgotten, lead) = (0, 0, nil)
            // A new table is made only instead of one that was used.
            if !stored.isEmpty { stored = [:] }
            if !otherLeads.isEmpty { otherLeads = [:] }
        }

        /// The requests that lead.
        var leads: [Lead] { (lead.map { [$0] } ?? []) + otherLeads.values }
    }

    private struct State {
        /// The places of the keys with exchanges under way.
        var places = HashIndex()
        /// The records, in use or free.
        var records: [Record] = []
        var free: [Int] = []
        var lastNumber: UInt64 = 0

        /// The keys with exchanges under way.
        var keys: [CacheKey] { places.places.map { records[$0].key } }

        /// Returns the place of a key's record; `nil` if there is none.
        func knownPlace(of key: CacheKey) -> Int? { places.place(of: key.number) { records[$0].key == key } }

        /// Returns the place of a key's record, which is made if there is none.
        mutating func place(of key: CacheKey) -> Int {
            if let known = knownPlace(of: key) { return known }
            let place = free.last ?? records.count
            places.insert(key.number, place)
            if place == records.count {
                records.append(Record(key: key))
            } else {
                free.removeLast()
                records[place].key = key
            }
            return place
        }
    }

    private let state = Locked(State())

    /// The number of keys with exchanges under way.
    var count: Int { state.withLock { $0.places.count } }

    /// The number of requests that others may wait for.
    var leaderCount: Int { state.withLock { $0.records.reduce(0) { $0 + $1.leads.count } } }

    /// The number of requests that wait.
    var waitingCount: Int {
        let flights = state.withLock { state in state.records.flatMap(\.leads).compactMap(\.flight) }
        return flights.reduce(0) { $0 + $1.waitingCount }
    }

    /// Returns the ticket of an exchange that begins. The exchange ends with its ticket.
    func begin(_ key: CacheKey) -> CacheTicket {
        let (number, place) = state.withLock { state in
            state.lastNumber += 1
            let place = state.place(of: key)
            state.records[place].count += 1
            return (state.lastNumber, place)
        }
        return CacheTicket(self, for: key, number: number, at: place, variant: nil, isLeader: false)
    }

    /// Returns the part of a request. The exchange of a leader begins.
    ///
    /// - Parameter variant: The selection of a known variant by the request, with the range that it asks for; `nil` if there is neither.
    ///   Requests are equal if its bytes are the same.
    func join(_ key: CacheKey, variant: String?) -> Role {
        let (number, place, flight) = state.withLock { state -> (UInt64, Int, CacheFlight?) in
            let place = state.place(of: key)
            // A record with a request that leads is not a new one.
            if let flight = state.records[place].flight(variant) { return (0, place, flight) }
            state.lastNumber += 1
            state.records[place].count += 1
            state.records[place].add(Lead(number: state.lastNumber, variant: variant))
            return (state.lastNumber, place, nil)
        }
        if let flight { return .waiter(flight) }
        return .leader(CacheTicket(self, for: key, number: number, at: place, variant: variant, isLeader: true))
    }

    /// Records that the stored responses of a key are no longer valid.
    func invalidate(_ key: CacheKey) {
        state.withLock { state in
            guard let place = state.knownPlace(of: key) else { return }
            state.lastNumber += 1
            state.records[place].invalidation = state.lastNumber
        }
    }

    /// Records that the stored responses of some keys are no longer valid.
    func invalidate(where isInvalid: (CacheKey) -> Bool) {
        // The condition is the user's code, which runs without the lock.
        let keys = state.withLock { $0.keys }.filter(isInvalid)
        state.withLock { state in
            state.lastNumber += 1
            for key in keys {
                guard let place = state.knownPlace(of: key) else { continue }
                state.records[place].invalidation = state.lastNumber
            }
        }
    }

    /// Ends an exchange.
    ///
    /// - Parameter variant: The variant of a response that was stored just now; `nil` if none was.
    fileprivate func end(_ ticket: CacheTicket, storing variant: String?) -> EndedExchange {
        state.withLock { state in
            let place = ticket.place
            let ended = state.records[place].end(ticket.number, leadingFor: ticket.variant, storing: variant)
            guard state.records[place].count == 0 else { return ended }
            state.records[place].free()
            state.places.remove(ticket.key.number, place)
            state.free.append(place)
            return ended
        }
    }

    fileprivate func endLead(_ ticket: CacheTicket, _ outcome: CacheFlight.Outcome) {
        state.withLock { $0.records[ticket.place].endLead(ticket.number, ticket.variant) }?.settle(outcome)
    }

    fileprivate func isValid(_ ticket: CacheTicket) -> Bool {
        state.withLock { $0.records[ticket.place].invalidation } < ticket.number
    }

    fileprivate func isLatest(_ ticket: CacheTicket, _ variant: String) -> Bool {
        state.withLock { $0.records[ticket.place].isLatest(ticket.number, variant) }
    }

    fileprivate func mayStore(_ ticket: CacheTicket, _ variant: String) -> Bool {
        state.withLock { $0.records[ticket.place].admits(ticket.number, variant) }
    }
}

/// The end of an exchange.
struct EndedExchange {
    /// Whether a response that was stored just now is still the latest one; `false` without one.
    let isLatest: Bool
    /// The requests that wait for the response; `nil` if there are none.
    fileprivate let flight: CacheFlight?

    /// Ends the wait of equal requests for the response.
    func settle(_ outcome: CacheFlight.Outcome) { flight?.settle(outcome) }
}

/// The ticket of an exchange under way, for whose response equal requests may wait.
final class CacheTicket: Sendable {
    private enum Phase: UInt8, AtomicRepresentable {
        /// Equal requests may wait for the response.
        case leading
        /// No request waits for the response.
        case alone
        /// The exchange has ended.
        case ended
    }

    /// The key of the exchange's URL.
    let key: CacheKey
    fileprivate let number: UInt64
    /// The place of the key's record, which stays the same until the exchange ends.
    fileprivate let place: Int
    /// The variant and the range that the request leads for; `nil` if there is neither, or the request does not lead.
    fileprivate let variant: String?
    private let exchanges: CacheExchanges
    private let phase: Atomic<Phase>

    fileprivate init(
        _ exchanges: CacheExchanges, for key: CacheKey, number: UInt64, at place: Int, variant: String?,
        isLeader: Bool
    ) {
        (self.exchanges, self.key, self.number) = (exchanges, key, number)
        (self.place, self.variant) = (place, variant)
        phase = Atomic(isLeader ? .leading : .alone)
    }

    deinit { end(storing: nil)?.settle(.left) }

    /// Whether equal requests may wait for the response.
    var isLeading: Bool { phase.load(ordering: .relaxed) == .leading }

    /// Whether no invalidation has happened since the exchange began, which has not ended.
    var isValid: Bool { exchanges.isValid(self) }

    /// Returns whether the response may be stored, and records that it is. The exchange has not ended.
    func mayStore(_ variant: String) -> Bool { exchanges.mayStore(self, variant) }

    /// Returns whether a response that was stored just now is still the latest one: an invalidation, or a newer response, may have come
    /// between ``mayStore(_:)`` and the moment at which the entry became visible, in its place.
    func isLatest(_ variant: String) -> Bool { exchanges.isLatest(self, variant) }

    /// Ends the wait of equal requests for the response, unless it has ended, or there was none. The exchange may end at the same time.
    func settle(_ outcome: CacheFlight.Outcome) {
        guard isLeading else { return }
        // The lead ends before the phase: an exchange that ends in between would free the record, with the requests that wait.
        exchanges.endLead(self, outcome)
        _ = phase.compareExchange(expected: .leading, desired: .alone, ordering: .relaxed)
    }

    /// Ends the exchange, before the ticket does. Returns `nil` if it has ended.
    ///
    /// - Parameter variant: The variant of a response that was stored just now; `nil` if none was.
    func end(storing variant: String?) -> EndedExchange? {
        phase.exchange(.ended, ordering: .relaxed) == .ended ? nil : exchanges.end(self, storing: variant)
    }
}
