import CurlEngine

/// The exchanges of a cache that are under way. A response is not stored if its request began before an invalidation of its URL, or before
/// the request of a stored response of the same variant: it may be older.
final class CacheExchanges: Sendable {
    private struct Record {
        /// The largest number of variants that are told apart.
        static let maximumVariantCount = 64

        let key: CacheKey
        /// The number of exchanges under way.
        var count = 0
        /// The number of the last invalidation.
        var invalidation: UInt64 = 0
        /// The numbers of the exchanges whose responses were stored last, by variant.
        var stored: [String: UInt64] = [:]
        /// The largest number of those that were forgotten, because there were too many. No exchange up to it may store.
        var forgotten: UInt64 = 0

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
    }

    private struct State {
        /// The places of the keys with exchanges under way.
        var places: [CacheKey: Int] = [:]
        /// The records, of which some are free.
        var records: [Record?] = []
        var free: [Int] = []
        var lastNumber: UInt64 = 0

        /// Returns the place of a key's record, which is made if there is none.
        mutating func place(of key: CacheKey) -> Int {
            let new = free.last ?? records.count
            let place = Self.value(&places[key, default: new])
            // A record that is known has another place than that of a new one.
            guard place == new else { return place }
            if free.popLast() == nil { records.append(Record(key: key)) } else { records[place] = Record(key: key) }
            return place
        }

        /// Returns a value that is looked up, and added if it is missing, with a single search.
        private static func value(_ place: inout Int) -> Int { place }
    }

    private let state = Locked(State())

    /// The number of keys with exchanges under way.
    var count: Int { state.withLock { $0.places.count } }

    /// The number of variants that are told apart, of all keys.
    var variantCount: Int { state.withLock { $0.records.reduce(0) { $0 + ($1?.stored.count ?? 0) } } }

    /// Returns the ticket of an exchange that begins. The exchange ends with its ticket.
    func begin(_ key: CacheKey) -> CacheTicket {
        let (number, place) = state.withLock { state in
            state.lastNumber += 1
            let place = state.place(of: key)
            state.records[place]?.count += 1
            return (state.lastNumber, place)
        }
        return CacheTicket(self, key, number, at: place)
    }

    /// Records that the stored responses of a key are no longer valid.
    func invalidate(_ key: CacheKey) {
        state.withLock { state in
            guard let place = state.places[key] else { return }
            state.lastNumber += 1
            state.records[place]?.invalidation = state.lastNumber
        }
    }

    /// Records that the stored responses of some keys are no longer valid.
    func invalidate(where isInvalid: (CacheKey) -> Bool) {
        state.withLock { state in
            state.lastNumber += 1
            for (key, place) in state.places where isInvalid(key) {
                state.records[place]?.invalidation = state.lastNumber
            }
        }
    }

    fileprivate func end(_ ticket: CacheTicket) {
        state.withLock { state in
            state.records[ticket.place]?.count -= 1
            guard state.records[ticket.place]?.count == 0 else { return }
            state.records[ticket.place] = nil
            state.places[ticket.key] = nil
            state.free.append(ticket.place)
        }
    }

    fileprivate func isValid(_ ticket: CacheTicket) -> Bool {
        let invalidation = state.withLock { $0.records[ticket.place]?.invalidation }
        return invalidation.map { $0 < ticket.number } ?? false
    }

    fileprivate func mayStore(_ ticket: CacheTicket, _ variant: String) -> Bool {
        state.withLock { $0.records[ticket.place]?.admits(ticket.number, variant) ?? false }
    }
}

/// The ticket of an exchange under way.
final class CacheTicket: Sendable {
    /// The key of the exchange's URL.
    let key: CacheKey
    fileprivate let number: UInt64
    /// The place of the key's record, which stays the same as long as the ticket exists.
    fileprivate let place: Int
    private let exchanges: CacheExchanges

    fileprivate init(_ exchanges: CacheExchanges, _ key: CacheKey, _ number: UInt64, at place: Int) {
        (self.exchanges, self.key, self.number, self.place) = (exchanges, key, number, place)
    }

    deinit { exchanges.end(self) }

    /// Indicates whether no invalidation has happened since the exchange began.
    var isValid: Bool { exchanges.isValid(self) }

    /// Returns whether the response may be stored, and records that it is.
    func mayStore(_ variant: String) -> Bool { exchanges.mayStore(self, variant) }
}
