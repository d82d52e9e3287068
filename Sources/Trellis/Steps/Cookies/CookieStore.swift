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
    private var nextOrder: UInt64 = 0
    /// The expiry dates of cookies, so that the next cookie to expire is found without a search.
    private var ends = KeyedHeap<Place, Date>()
    /// The candidates for eviction, see `evictOldest`.
    var oldest: [EvictionCandidate] = []
    /// The domains with more cookies than `CookieLimits.fairShare`.
    private(set) var crowded: Set<String> = []
    /// The number of cookies with `Secure` by name. Few names have both cookies with `Secure` and cookies without it.
    private var secureNames: [String: Int] = [:]

    init(limits: CookieLimits = CookieLimits(), suffixes: PublicSuffixes = .system) {
        self.limits = limits
        self.suffixes = suffixes
    }

    // MARK: Sending (RFC 6265bis, section 5.8.3)

    /// Returns the cookies for a request, in their order.
    mutating func cookies(for url: CookieURL, at now: Date) -> [Cookie] {
        removeExpired(at: now)
        var found: [Entry] = []
        var domain = Substring(url.host)
        repeat {
            if let place = entries.index(forKey: String(domain)) { collect(place, for: url, at: now, into: &found) }
            guard !url.hasAddress, let dot = domain.utf8.firstIndex(of: UInt8(ascii: ".")) else { break }
            domain = domain[domain.utf8.index(after: dot)...]
        } while true
        if found.count > 1 {
            found.sort { left, right in
                let lengths = (left.cookie.path.utf8.count, right.cookie.path.utf8.count)
                return lengths.0 == lengths.1 ? left.order < right.order : lengths.0 > lengths.1
            }
        }
        var room = limits.fieldSize
        return found.prefix { entry in
            room -= entry.cookie.fieldSize
            return room >= 0
        }.map(\.cookie)
    }

    /// Adds the cookies of one domain that match a request, and updates the date of their last use.
    private mutating func collect(
        _ place: Dictionary<String, [Entry]>.Index, for url: CookieURL, at now: Date, into found: inout [Entry]
    ) {
        for index in entries.values[place].indices {
            let cookie = entries.values[place][index].cookie
            guard !cookie.isHostOnly || cookie.domain == url.host, !cookie.isSecure || url.isSecure,
                CookiePath.matches(url.path, cookie.path)
            else { continue }
            entries.values[place][index].cookie.lastAccessed = now
            found.append(entries.values[place][index])
        }
    }

    // MARK: Receiving (RFC 6265bis, section 5.7)

    /// Stores the cookies of fields; returns the cookies that were stored and have changed something.
    mutating func receive(_ fields: [String], from url: CookieURL, at now: Date) -> [Cookie] {
        removeExpired(at: now)
        var taken: [Cookie] = []
        for field in fields {
            guard let parsed = SetCookie(field),
                let cookie = Cookie(parsed, from: url, at: now, suffixes: suffixes),
                url.isSecure || cookie.isSecure || !shadowsSecure(cookie)
            else { continue }
            if insert(cookie, at: now) { taken.append(cookie) }
        }
        evict(at: now)
        return taken
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
        guard secureNames[cookie.name] != nil else { return false }
        return entries.contains { domain, entries in
            (CookieDomain.matches(domain, cookie.domain) || CookieDomain.matches(cookie.domain, domain))
                && entries.contains { other in
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
        guard let old = entries[cookie.domain]?[index] else { return false }
        var cookie = cookie
        cookie.created = old.cookie.created
        countName(of: old.cookie, -1)
        countName(of: cookie, 1)
        replace(at: index, of: cookie.domain, by: cookie)
        return !cookie.isSaved(by: old.cookie)
    }

    private mutating func add(_ cookie: Cookie) {
        entries[cookie.domain, default: []].append(Entry(cookie: cookie, order: nextOrder))
        if let end = cookie.expires { ends.set(Place(domain: cookie.domain, order: nextOrder), to: end) }
        nextOrder += 1
        count += 1
        countName(of: cookie, 1)
        noteCrowd(of: cookie.domain)
    }

    /// Replaces the cookie of an entry, which keeps its order.
    mutating func replace(at index: Int, of domain: String, by cookie: Cookie) {
        guard let order = entries[domain]?[index].order else { return }
        entries[domain]?[index] = Entry(cookie: cookie, order: order)
        let place = Place(domain: domain, order: order)
        if let end = cookie.expires { ends.set(place, to: end) } else { ends.remove(place) }
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
            remove(at: index, of: place.domain)
        }
    }

    /// Adds to the number of cookies with `Secure` that have the name of a cookie.
    private mutating func countName(of cookie: Cookie, _ change: Int) {
        guard cookie.isSecure else { return }
        let number = secureNames[cookie.name, default: 0] + change
        secureNames[cookie.name] = number > 0 ? number : nil
    }
}
