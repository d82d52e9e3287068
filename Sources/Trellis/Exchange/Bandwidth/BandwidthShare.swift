import CurlEngine

/// A limit on bytes in a second, shared fairly between its members, as a value that is driven by instants.
///
/// A member that wants to move bytes joins, and may go when it is granted a quantum, which is taken out of the limit at that
/// moment. What it moves beyond its quantum, because bytes come in buffers, is taken out too. Then it waits for its next turn,
/// which is that of whoever has moved the fewest bytes; who comes back from a rest has no claim to what it did not use. No more
/// is ever granted than the limit brings, and nothing is held back while somebody waits.
struct BandwidthShare<Member: Hashable> {
    private struct Account {
        /// Granted and not used.
        var allowance: Int64 = 0
        /// Bytes moved, with those that it did not want to move while others did.
        var moved: Int64
    }

    /// The fewer bytes a member has moved, the earlier its turn; of equals, the one goes first that has waited for longer.
    private struct Turn: Comparable {
        let moved: Int64
        let ticket: UInt64

        static func < (left: Turn, right: Turn) -> Bool { (left.moved, left.ticket) < (right.moved, right.ticket) }
    }

    private let limit: BandwidthLimit
    private let quantum: Int64
    private let patience: UInt64
    private var accounts: [Member: Account] = [:]
    /// The members that wait.
    private var waiting = KeyedHeap<Member, Turn>()
    private var lastTicket: UInt64 = 0
    /// When everything that was granted will have been brought in, and a burst is possible again.
    private var full: EngineInstant
    /// What whoever had the last turn had moved before.
    private var level: Int64 = 0

    init(_ limit: BandwidthLimit, at now: EngineInstant) {
        self.limit = limit
        quantum = Int64(limit.quantum)
        full = now
        patience = Self.time(of: Int64(limit.burst), limit) - Self.time(of: Int64(limit.quantum), limit)
    }

    var memberCount: Int { accounts.count }

    /// What was compared so far to find out whose turn it is. Tests hold the cost of a turn against it.
    var comparisons: Int { waiting.comparisons }

    // MARK: Members

    /// A transfer wants to move bytes. `true`: it may; otherwise it is named by ``grants(at:)``, like all that wait already.
    mutating func join(_ member: Member, at now: EngineInstant) -> Bool {
        let isAlone = waiting.isEmpty
        accounts[member] = Account(moved: level)
        wait(member)
        return isAlone && !grants(at: now).isEmpty
    }

    /// Bytes have moved. `true`: more may; otherwise the member is named by ``grants(at:)``.
    mutating func spend(_ bytes: Int, by member: Member, at now: EngineInstant) -> Bool {
        guard var account = accounts[member] else { return true }
        account.moved += Int64(bytes)
        account.allowance -= Int64(bytes)
        if account.allowance < 0 {
            take(-account.allowance, at: now)
            account.allowance = 0
        }
        accounts[member] = account
        if account.allowance > 0 || waiting.contains(member) { return account.allowance > 0 }
        wait(member)
        return false
    }

    /// The transfer is over; what it did not use is there for the others.
    mutating func leave(_ member: Member) {
        guard let account = accounts.removeValue(forKey: member) else { return }
        waiting.remove(member)
        let refund = Self.time(of: account.allowance, limit)
        full.nanoseconds -= min(refund, full.nanoseconds)
        if accounts.isEmpty { level = 0 }
    }

    private mutating func wait(_ member: Member) {
        let moved = max(accounts[member]?.moved ?? level, level)
        accounts[member]?.moved = moved
        lastTicket += 1
        waiting.set(member, to: Turn(moved: moved, ticket: lastTicket))
    }

    // MARK: Turns

    /// Who may go now.
    mutating func grants(at now: EngineInstant) -> [Member] {
        var granted: [Member] = []
        while let next = nextGrant, next <= now, let member = waiting.popFirst() {
            take(quantum, at: now)
            level = max(level, accounts[member]?.moved ?? level)
            accounts[member]?.allowance += quantum
            granted.append(member)
        }
        return granted
    }

    /// When the next one may go; `nil`: nobody waits.
    var nextGrant: EngineInstant? {
        guard !waiting.isEmpty else { return nil }
        return EngineInstant(nanoseconds: full.nanoseconds - min(patience, full.nanoseconds))
    }

    private mutating func take(_ bytes: Int64, at now: EngineInstant) {
        full = max(full, now).advanced(byNanoseconds: Self.time(of: bytes, limit))
    }

    /// How long the limit needs to bring so many bytes, in nanoseconds, rounded up.
    private static func time(of bytes: Int64, _ limit: BandwidthLimit) -> UInt64 {
        guard bytes > 0 else { return 0 }
        let (high, low) = UInt64(bytes).multipliedFullWidth(by: 1_000_000_000)
        let rate = UInt64(limit.bytesPerSecond)
        guard high < rate else { return .max }
        let (quotient, remainder) = rate.dividingFullWidth((high, low))
        return quotient + (remainder > 0 ? 1 : 0)
    }
}
