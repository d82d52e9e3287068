import CurlEngine
import FoundationEssentials

/// A collection of cookies by domain, as a value: the part that all storages have in common.
struct CookieStore: Sendable {
    /// A cookie, and its number in the order of creation.
    struct Entry: Sendable {
        var cookie: Cookie
        let order: UInt64
    }

    /// The place of an entry: its domain, and its number in the order of creation, which no other entry has.
    struct Place: Sendable, Hashable {
        let domain: String
        let order: UInt64

        static func == (left: Place, right: Place) -> Bool { left.order == right.order }
        func hash(into hasher: inout Hasher) { hasher.combine(order) }
    }

    let limits: CookieLimits
    private let suffixes: PublicSuffixes
    var entries: [String: [Entry]] = [:]
    private(set) var count = 0
    /// The number of changes so far, except changes of dates.
    private(set) var version = 0
    /// The number of changes so far, except changes of values and dates.
    private(set) var structure = 0
    private var nextOrder: UInt64 = 0
    /// Dates no later than the expiry dates of cookies, so that the next cookie to expire is found without a search.
    private var ends = KeyedHeap<Place, Date>()
    /// The candidates for eviction, see `evictOldest`.
    var oldest: [EvictionCandidate] = []
    /// The domains with more cookies than `CookieLimits.fairShare`.
    private(set) var crowded: Set<String> = []
    /// The number of cookies with `Secure` by name and domain. Few names have both cookies with `Secure` and cookies without it, and few
    /// domains have cookies of the same name, so that a cookie from an insecure origin is compared with few others.
    private var secureNames: [String: [String: Int]] = [:]

    init(limits: CookieLimits = CookieLimits(), suffixes: PublicSuffixes = .system) {
        self.limits = limits.usable
        self.suffixes = suffixes
    }

    // MARK: Sending (RFC 6265bis, section 5.8.3)

    /// The spot of an entry, which is valid until the next change of ``structure``.
    struct Spot: Sendable {
        fileprivate let place: Dictionary<String, [Entry]>.Index
        fileprivate let index: Int
    }

    /// Returns the cookies for a request, in their order.
    mutating func cookies(for url: CookieURL, at now: Date) -> [Cookie] {
        entries(for: url, at: now).found.map(\.entry.cookie)
    }

    /// Returns the entries of the cookies for a request, in their order, and whether more were left out because of the limit.
    mutating func entries(
        for url: CookieURL, at now: Date
    ) -> (found: [(entry: Entry, spot: Spot)], isCut: Bool) {
        removeExpired(at: now)
        var found: [(entry: Entry, spot: Spot)] = []
        var domain = Substring(url.host)
        repeat {
            if let place = entries.index(forKey: String(domain)) { collect(place, for: url, at: now, into: &found) }
            guard !url.hasAddress, let dot = domain.utf8.firstIndex(of: UInt8(ascii: ".")) else { break }
            domain = domain[domain.utf8.index(after: dot)...]
        } while true
        if found.count > 1 {
            found.sort { left, right in
                let lengths = (left.entry.cookie.path.utf8.count, right.entry.cookie.path.utf8.count)
                return lengths.0 == lengths.1 ? left.entry.order < right.entry.order : lengths.0 > lengths.1
            }
        }
        var room = limits.fieldSize
        let excess = found.firstIndex { found in
            room -= found.entry.cookie.fieldSize
            return room < 0
        }
        if let excess { found.removeSubrange(excess...) }
        return (found, excess != nil)
    }

    /// Updates the date of the last use of an entry.
    mutating func touch(_ spot: Spot, at now: Date) { entries.values[spot.place][spot.index].cookie.lastAccessed = now }

    /// Returns the cookie of an entry.
    func cookie(at spot: Spot) -> Cookie { entries.values[spot.place][spot.index].cookie }

    /// Returns the text of the field with the cookies of entries; `nil` if there are no entries, or if not all of them fit.
    func field(_ spots: [Spot]) -> String? {
        if spots.count == 1 { return field(spots[0]) }
        // Bytes are joined faster than strings, and a cookie has many properties to copy.
        var bytes: [UInt8] = []
        var room = limits.fieldSize
        for spot in spots {
            let name = entries.values[spot.place][spot.index].cookie.name
            let value = entries.values[spot.place][spot.index].cookie.value
            let size = Cookie.fieldSize(name, value)
            room -= size
            guard room >= 0 else { return nil }
            if bytes.isEmpty { bytes.reserveCapacity(size) } else { bytes += [UInt8(ascii: ";"), UInt8(ascii: " ")] }
            if !name.isEmpty {
                bytes.append(contentsOf: name.utf8)
                bytes.append(UInt8(ascii: "="))
            }
            bytes.append(contentsOf: value.utf8)
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the text of the field with the cookie of one entry, as ``field(_:)`` for several.
    private func field(_ spot: Spot) -> String? {
        let name = entries.values[spot.place][spot.index].cookie.name
        let value = entries.values[spot.place][spot.index].cookie.value
        guard Cookie.fieldSize(name, value) <= limits.fieldSize else { return nil }
        if name.isEmpty { return value.isEmpty ? nil : value }
        return String(joining: name, "=", value)
    }

    /// Adds the cookies of one domain that match a request, and updates the date of their last use.
    private mutating func collect(
        _ place: Dictionary<String, [Entry]>.Index, for url: CookieURL, at now: Date,
        into found: inout [(entry: Entry, spot: Spot)]
    ) {
        for index in entries.values[place].indices {
            let cookie = entries.values[place][index].cookie
            guard !cookie.isHostOnly || cookie.domain == url.host, !cookie.isSecure || url.isSecure,
                CookiePath.matches(url.path, cookie.path)
            else { continue }
            entries.values[place][index].cookie.lastAccessed = now
            found.append((entries.values[place][index], Spot(place: place, index: index)))
        }
    }

    // MARK: Receiving (RFC 6265bis, section 5.7)

    /// Stores the cookies of fields; returns the cookies that were stored and have changed something.
    mutating func receive(_ fields: [String], from url: CookieURL, at now: Date) -> [Cookie] {
        removeExpired(at: now)
        var taken: [Cookie] = []
        for field in fields {
            guard let parsed = SetCookie(field), let cookie = cookie(parsed, from: url, at: now) else { continue }
            if insert(cookie, at: now) { taken.append(cookie) }
        }
        evict(at: now)
        return taken
    }

    /// A cookie that a field has set, and that the same field sets again in later responses.
    struct Renewal: Sendable {
        fileprivate let spot: Spot
        fileprivate let lifetime: CookieLifetime
        fileprivate let value: String
    }

    /// Stores the cookies of fields. Returns the renewals for later responses with the same fields; they are valid until the next change of
    /// ``structure``.
    mutating func receiveRepeated(_ fields: [String], from url: CookieURL, at now: Date) -> [Renewal] {
        removeExpired(at: now)
        var taken: [(cookie: Cookie, lifetime: CookieLifetime)] = []
        for field in fields {
            guard let parsed = SetCookie(field), let cookie = cookie(parsed, from: url, at: now) else { continue }
            _ = insert(cookie, at: now)
            taken.append((cookie, parsed.lifetime))
        }
        evict(at: now)
        return taken.compactMap { taken in
            guard let place = entries.index(forKey: taken.cookie.domain),
                let index = entries.values[place].firstIndex(where: { taken.cookie.replaces($0.cookie) })
            else { return nil }
            return Renewal(
                spot: Spot(place: place, index: index), lifetime: taken.lifetime, value: taken.cookie.value)
        }
    }

    /// Stores a cookie again that differs from the stored one in its dates and its value alone.
    ///
    /// - Parameter newValue: The value, if it is another one than the renewal's.
    mutating func renew(_ renewal: Renewal, value newValue: String? = nil, at now: Date) {
        let (place, index) = (renewal.spot.place, renewal.spot.index)
        let (order, old) = (entries.values[place][index].order, entries.values[place][index].cookie.expires)
        let end = renewal.lifetime.end(at: now)
        entries.values[place][index].cookie.lastAccessed = now
        let value = newValue ?? renewal.value
        if !entries.values[place][index].cookie.value.hasSameBytes(as: value) {
            entries.values[place][index].cookie.value = value
            version += 1
        }
        guard old != nil || end != nil else { return }
        entries.values[place][index].cookie.expires = end
        setEnd(of: Place(domain: entries.keys[place], order: order), from: old, to: end)
    }

    /// Returns the cookie that a field sets; `nil` if the response may not set it.
    private func cookie(_ field: SetCookie, from url: CookieURL, at now: Date) -> Cookie? {
        guard let cookie = Cookie(field, from: url, at: now, suffixes: suffixes),
            url.isSecure || cookie.isSecure || !shadowsSecure(cookie)
        else { return nil }
        return cookie
    }

    /// Stores cookies as they are; returns those that have changed something.
    mutating func insert(_ cookies: [Cookie], at now: Date) -> [Cookie] {
        removeExpired(at: now)
        let taken = cookies.filter { insert($0, at: now) }
        evict(at: now)
        return taken
    }

    /// Returns whether a cookie from an insecure origin would stand in for a secure one, which it must not (step 16).
    private func shadowsSecure(_ cookie: Cookie) -> Bool {
        guard let domains = secureNames[cookie.name] else { return false }
        return domains.keys.contains { domain in
            guard CookieDomain.matches(domain, cookie.domain) || CookieDomain.matches(cookie.domain, domain),
                let entries = entries[domain]
            else { return false }
            return entries.contains { other in
                other.cookie.isSecure && other.cookie.name.hasSameBytes(as: cookie.name)
                    && CookiePath.matches(cookie.path, other.cookie.path)
            }
        }
    }

    /// Stores a cookie in the place of the one that it replaces (steps 22 and 23); returns `false` if nothing that a file
    /// holds has changed.
    private mutating func insert(_ cookie: Cookie, at now: Date) -> Bool {
        let index = entries[cookie.domain]?.firstIndex { cookie.replaces($0.cookie) }
        if cookie.isExpired(at: now) {
            if let index { remove(at: index, of: cookie.domain) }
            return index != nil
        }
        guard let index else {
            add(cookie)
            if let excess = entries[cookie.domain], excess.count > limits.perDomain { evict(fromDomain: cookie.domain) }
            return true
        }
        guard let old = entries[cookie.domain]?[index].cookie else { return false }
        var cookie = cookie
        cookie.created = old.created
        if old.isSecure != cookie.isSecure {
            countName(of: old, -1)
            countName(of: cookie, 1)
        }
        replace(at: index, of: cookie.domain, by: cookie)
        return !cookie.isSaved(by: old)
    }

    private mutating func add(_ cookie: Cookie) {
        entries[cookie.domain, default: []].append(Entry(cookie: cookie, order: nextOrder))
        if let end = cookie.expires { ends.set(Place(domain: cookie.domain, order: nextOrder), to: end) }
        nextOrder += 1
        count += 1
        version += 1
        structure += 1
        countName(of: cookie, 1)
        noteCrowd(of: cookie.domain)
    }

    /// Replaces the cookie of an entry, which keeps its order.
    mutating func replace(at index: Int, of domain: String, by cookie: Cookie) {
        guard let place = entries.index(forKey: domain) else { return }
        let old = entries.values[place][index].cookie.expires
        if !cookie.isEqualButForDates(to: entries.values[place][index].cookie) { version += 1 }
        if !cookie.hasSameAttributes(as: entries.values[place][index].cookie) { structure += 1 }
        entries.values[place][index].cookie = cookie
        setEnd(of: Place(domain: domain, order: entries.values[place][index].order), from: old, to: cookie.expires)
    }

    /// Records the expiry date of an entry. A later date than before is found when the date before has passed.
    private mutating func setEnd(of place: Place, from old: Date?, to end: Date?) {
        guard let end else {
            if old != nil { ends.remove(place) }
            return
        }
        if let old, old <= end { return }
        ends.set(place, to: end)
    }

    /// Adds a domain to `crowded` or removes it, by its number of cookies.
    private mutating func noteCrowd(of domain: String) {
        if entries[domain]?.count ?? 0 > CookieLimits.fairShare {
            crowded.insert(domain)
        } else if !crowded.isEmpty {
            crowded.remove(domain)
        }
    }

    // MARK: Removing

    mutating func remove(_ cookie: Cookie) -> Bool {
        guard let index = entries[cookie.domain]?.firstIndex(where: { cookie.replaces($0.cookie) }) else {
            return false
        }
        remove(at: index, of: cookie.domain)
        return true
    }

    mutating func remove(at index: Int, of domain: String) {
        guard let entry = entries[domain]?.remove(at: index) else { return }
        count -= 1
        version += 1
        structure += 1
        countName(of: entry.cookie, -1)
        if entry.cookie.expires != nil { ends.remove(Place(domain: domain, order: entry.order)) }
        if entries[domain]?.isEmpty == true { entries[domain] = nil }
        noteCrowd(of: domain)
    }

    mutating func removeAll(where isUnwanted: (Cookie) -> Bool) {
        for (domain, list) in entries {
            for index in list.indices.reversed() where isUnwanted(list[index].cookie) { remove(at: index, of: domain) }
        }
    }

    /// Removes the cookies that have expired ("the user agent MUST evict all expired cookies" whenever one exists). Costs one
    /// comparison if none has expired, and O(log n) for each cookie that has.
    mutating func removeExpired(at now: Date) {
        while let next = ends.first, next.key <= now {
            let place = next.member
            guard let index = entries[place.domain]?.firstIndex(where: { $0.order == place.order }) else {
                ends.remove(place)
                continue
            }
            if let end = entries[place.domain]?[index].cookie.expires, end > now {
                ends.set(place, to: end)
            } else {
                remove(at: index, of: place.domain)
            }
        }
    }

    /// Adds to the number of cookies with `Secure` that have the name and the domain of a cookie.
    private mutating func countName(of cookie: Cookie, _ change: Int) {
        guard cookie.isSecure else { return }
        let number = secureNames[cookie.name]?[cookie.domain] ?? 0
        secureNames[cookie.name, default: [:]][cookie.domain] = number + change > 0 ? number + change : nil
        if secureNames[cookie.name]?.isEmpty == true { secureNames[cookie.name] = nil }
    }
}
