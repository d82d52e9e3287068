import FoundationEssentials

/// What goes when there is no room (section 5.7, "remove excess cookies").
extension CookieStore {
    /// Takes one cookie from a domain that has too many: of those without `Secure`, if there are any, the one not used for
    /// the longest time.
    mutating func evict(fromDomain domain: String) {
        guard let list = entries[domain] else { return }
        let victim = list.indices.min { left, right in
            let (one, two) = (list[left], list[right])
            guard one.cookie.isSecure == two.cookie.isSecure else { return !one.cookie.isSecure }
            return one.goesBefore(two)
        }
        if let victim { remove(at: victim, of: domain) }
    }

    /// Takes cookies until no more are left than may be in all.
    mutating func evict(at now: Date) {
        guard count > limits.total else { return }
        removeAll { $0.isExpired(at: now) }
        // Of domains with more than their share, first what is not secure.
        evict { !$0.isSecure && $1 > CookieLimits.fairShare }
        evict { $1 > CookieLimits.fairShare }
        evict { _, _ in true }
    }

    /// Takes those that may go, as long as they may: a domain can come down to its share.
    private mutating func evict(where mayGo: (_ cookie: Cookie, _ siblings: Int) -> Bool) {
        guard count > limits.total else { return }
        var candidates: [Candidate] = []
        for (domain, list) in entries {
            for entry in list where mayGo(entry.cookie, list.count) { candidates.append(Candidate(entry, domain)) }
        }
        if count == limits.total + 1 {
            // A full jar that gets one more, again and again.
            candidates = candidates.min(by: <).map { [$0] } ?? []
        } else {
            candidates.sort(by: <)
        }
        for candidate in candidates where count > limits.total {
            guard let list = entries[candidate.domain],
                let index = list.firstIndex(where: { $0.order == candidate.order }),
                mayGo(list[index].cookie, list.count)
            else { continue }
            remove(at: index, of: candidate.domain)
        }
    }

    /// What is to be known of one that may go; copies of whole cookies would cost more.
    private struct Candidate: Comparable {
        let lastAccessed: Date
        let order: UInt64
        let domain: String

        init(_ entry: Entry, _ domain: String) {
            lastAccessed = entry.cookie.lastAccessed
            order = entry.order
            self.domain = domain
        }

        static func < (left: Candidate, right: Candidate) -> Bool {
            (left.lastAccessed, left.order) < (right.lastAccessed, right.order)
        }
    }
}

extension CookieStore.Entry {
    /// Not used for longer.
    fileprivate func goesBefore(_ other: CookieStore.Entry) -> Bool {
        let (one, two) = (cookie.lastAccessed, other.cookie.lastAccessed)
        return one == two ? order < other.order : one < two
    }
}

extension CookieStore {
    /// Every cookie, in the order in which they came.
    var all: [Cookie] {
        entries.values.joined().sorted { $0.order < $1.order }.map(\.cookie)
    }

    /// Takes what a file does not hold from the same cookies of another store: when they came and were used, and what the
    /// server said of other sites.
    mutating func takeMetadata(from other: CookieStore) {
        for domain in entries.keys {
            guard let known = other.entries[domain], let list = entries[domain] else { continue }
            for index in list.indices {
                let cookie = list[index].cookie
                guard let old = known.first(where: { cookie.isSaved(by: $0.cookie) }) else { continue }
                entries[domain]?[index].cookie = old.cookie
            }
        }
    }
}
