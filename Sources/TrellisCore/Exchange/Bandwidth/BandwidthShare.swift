import CurlEngine

/// A limit in bytes per second that is shared fairly between its members, as a value without a clock.
///
/// A member joins in order to move bytes, and may move them when it is granted a quantum, which is subtracted from the limit at that
/// moment. Bytes beyond the quantum, which occur because bytes arrive in buffers, are subtracted too. Then the member waits for its next
/// turn. The member that has moved the fewest bytes is next; a member that returns from a pause has no claim to the bytes that it did not
/// use. The grants never exceed the limit, and bytes within the limit are always granted while a member waits.
struct BandwidthShare<Member: Hashable> {
    private struct Account {
        /// The number of bytes that were granted and not used.
        var allowance: Int64 = 0
        /// The number of bytes moved, including a credit for the bytes that other members moved while this one was absent.
        var moved: Int64
    }

    /// The key of a member's turn. The fewer bytes a member has moved, the earlier its turn; of equal members, the one that has waited
    /// longer is first.
    private struct Turn: Comparable {
        let moved: Int64
        let ticket: UInt64

        static func < (left: Turn, right: Turn) -> Bool { (left.moved, left.ticket) < (right.moved, right.ticket) }
    }

    private let limit: BandwidthLimit
    /// The number of bytes that a member is granted in one turn.
    private let quantum: Int64
    /// The time by which a grant may precede ``full``, in nanoseconds: the time that a burst less one quantum takes.
    private let patience: UInt64
    private var accounts: [Member: Account] = [:]
    /// The waiting members, ordered by their turns.
    private var waiting = KeyedHeap<Member, Turn>()
    private var lastTicket: UInt64 = 0
    /// The instant at which all granted bytes are within the limit, and a complete burst is possible again.
    private var full: EngineInstant
    /// The number of bytes that the member with the last turn had moved before that turn.
    private var level: Int64 = 0

    init(_ limit: BandwidthLimit, at now: EngineInstant) {
        self.limit = limit
        quantum = Int64(limit.quantum)
        full = now
        patience = Self.time(of: Int64(limit.burst), limit) - Self.time(of: Int64(limit.quantum), limit)
    }

    /// The number of comparisons made to find the next member. Tests use it to check the cost of a turn.
    var comparisons: Int { waiting.comparisons }

    // MARK: Members

    /// Adds a member. Returns `true` if the member may move bytes; otherwise ``grants(at:)`` returns it later.
    mutating func join(_ member: Member, at now: EngineInstant) -> Bool {
        let isAlone = waiting.isEmpty
        accounts[member] = Account(moved: level)
        wait(member)
        return isAlone && !grants(at: now).isEmpty
    }

    /// Counts moved bytes. Returns `true` if the member may move more; otherwise ``grants(at:)`` returns it later.
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

    /// Removes a member. Its unused bytes become available to the others.
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

    /// Grants a quantum to each member whose turn it is, and returns these members.
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

    /// The instant of the next grant; `nil` if no member waits.
    var nextGrant: EngineInstant? {
        guard !waiting.isEmpty else { return nil }
        return EngineInstant(nanoseconds: full.nanoseconds - min(patience, full.nanoseconds))
    }

    private mutating func take(_ bytes: Int64, at now: EngineInstant) {
        full = max(full, now).advanced(byNanoseconds: Self.time(of: bytes, limit))
    }

    /// Returns the time in nanoseconds, rounded up, in which the limit allows a number of bytes.
    private static func time(of bytes: Int64, _ limit: BandwidthLimit) -> UInt64 {
        guard bytes > 0 else { return 0 }
        let (high, low) = UInt64(bytes).multipliedFullWidth(by: 1_000_000_000)
        let rate = UInt64(limit.bytesPerSecond)
        guard high < rate else { return .max }
        let (quotient, remainder) = rate.dividingFullWidth((high, low))
        return quotient + (remainder > 0 ? 1 : 0)
    }
}
