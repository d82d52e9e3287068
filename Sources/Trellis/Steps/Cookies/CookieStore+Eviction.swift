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
        let candidates = entries.values.joined().sorted { $0.goesBefore($1) }
        // Of domains with more than their share, first what is not secure.
        evict(candidates) { !$1.isSecure && $0.isAboveShare($1.domain) }
        evict(candidates) { $0.isAboveShare($1.domain) }
        evict(candidates) { _, _ in true }
    }

    private func isAboveShare(_ domain: String) -> Bool { (entries[domain]?.count ?? 0) > CookieLimits.fairShare }

    private mutating func evict(_ candidates: [Entry], _ mayGo: (borrowing CookieStore, Cookie) -> Bool) {
        for candidate in candidates {
            guard count > limits.total else { return }
            guard mayGo(self, candidate.cookie) else { continue }
            _ = remove(candidate.cookie)
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
