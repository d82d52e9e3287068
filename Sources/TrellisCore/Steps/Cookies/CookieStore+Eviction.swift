import FoundationEssentials

/// The removal of cookies when no room is left (RFC 6265bis, section 5.7, "remove excess cookies").
extension CookieStore {
    /// Removes one cookie from a domain that has too many: among those without `Secure`, if there are any, the one that was not
    /// used for the longest time.
    mutating func evict(fromDomain domain: String) {
        guard let list = entries[domain] else { return }
        let victim = list.indices.min { left, right in
            let (one, two) = (list[left], list[right])
            guard one.cookie.isSecure == two.cookie.isSecure else { return !one.cookie.isSecure }
            return one.goesBefore(two)
        }
        if let victim { remove(at: victim, of: domain) }
    }

    /// Removes cookies until their number is within the limit for all of them.
    mutating func evict(at now: Date) {
        guard count > limits.total else { return }
        removeExpired(at: now)
        // Domains with more than their share lose cookies without `Secure` first.
        evictFromCrowded { !$0.isSecure }
        evictFromCrowded { _ in true }
        evictOldest()
    }

    /// Removes the oldest cookies of the domains that exceed their share, until the jar is within its limit or no domain exceeds it.
    private mutating func evictFromCrowded(where mayGo: (Cookie) -> Bool) {
        guard count > limits.total, !crowded.isEmpty else { return }
        var candidates: [EvictionCandidate] = []
        for domain in crowded {
            for entry in entries[domain] ?? [] where mayGo(entry.cookie) {
                candidates.append(EvictionCandidate(entry, domain))
            }
        }
        candidates.sort(by: <)
        for candidate in candidates where count > limits.total && crowded.contains(candidate.domain) {
            guard let index = index(of: candidate) else { continue }
            remove(at: index, of: candidate.domain)
        }
    }

    /// Removes the cookies that were not used for the longest time.
    ///
    /// A full jar to which single cookies are added again and again must not sort all cookies each time. The oldest eighth of the
    /// cookies is sorted once and kept in `oldest`; the ones that were used since are skipped, and no other cookie is older.
    private mutating func evictOldest() {
        while count > limits.total {
            while let candidate = oldest.popLast() {
                guard let index = index(of: candidate) else { continue }
                remove(at: index, of: candidate.domain)
                if count <= limits.total { return }
            }
            var candidates: [EvictionCandidate] = []
            candidates.reserveCapacity(count)
            for (domain, list) in entries {
                for entry in list { candidates.append(EvictionCandidate(entry, domain)) }
            }
            candidates.sort(by: <)
            oldest = candidates.prefix(max(limits.total / 8, count - limits.total)).reversed()
        }
    }

    /// Returns the index of the candidate's entry in its domain; `nil` if the entry is gone, or was used since.
    private func index(of candidate: EvictionCandidate) -> Int? {
        entries[candidate.domain]?.firstIndex {
            $0.order == candidate.order && $0.cookie.lastAccessed == candidate.lastAccessed
        }
    }

    /// A cookie that may be evicted, reduced to its place and its last use: copies of complete cookies would cost more.
    struct EvictionCandidate: Sendable {
        let lastAccessed: Date
        let order: UInt64
        let domain: String

        init(_ entry: Entry, _ domain: String) {
            lastAccessed = entry.cookie.lastAccessed
            order = entry.order
            self.domain = domain
        }

        static func < (left: EvictionCandidate, right: EvictionCandidate) -> Bool {
            left.lastAccessed == right.lastAccessed
                ? left.order < right.order : left.lastAccessed < right.lastAccessed
        }
    }
}

extension CookieStore.Entry {
    /// Returns whether the entry was not used for longer than another.
    fileprivate func goesBefore(_ other: CookieStore.Entry) -> Bool {
        let (one, two) = (cookie.lastAccessed, other.cookie.lastAccessed)
        return one == two ? order < other.order : one < two
    }
}

extension CookieStore {
    /// All cookies, in the order of their arrival.
    var all: [Cookie] {
        entries.values.joined().sorted { $0.order < $1.order }.map(\.cookie)
    }

    /// Takes over the values that a file does not hold from the same cookies of another store: the dates of their creation and
    /// last use, and their `SameSite`.
    mutating func takeMetadata(from other: CookieStore) {
        for domain in entries.keys {
            guard let known = other.entries[domain], let list = entries[domain] else { continue }
            for index in list.indices {
                let cookie = list[index].cookie
                guard let old = known.first(where: { cookie.isSaved(by: $0.cookie) }) else { continue }
                replace(at: index, of: domain, by: old.cookie)
            }
        }
        oldest = []
    }
}
