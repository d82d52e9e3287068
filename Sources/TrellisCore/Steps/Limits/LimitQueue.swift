import CurlEngine

/// The limit of one host, which says when the next request may be sent.
protocol HostLimit: HostState {
    /// Whether a request may be sent as soon as its turn has arrived; otherwise the end of another one comes first.
    var hasRoom: Bool { get }
    /// The longest time in nanoseconds that a request may wait for its turn; `nil` if there is none.
    var maximumWait: UInt64? { get }
    /// The number of the request that was admitted last. Requests that are admitted together have consecutive numbers.
    var lastToken: Int { get }

    /// Returns the earliest instant at which a request may be sent that has a number of others ahead of it. May be in the past.
    func turn(behind count: Int) -> EngineInstant
    /// Admits a request whose turn has arrived.
    mutating func take(at now: EngineInstant)
}

/// The queue of one host, as a value: its limit and the waiters, by priority, and then in the order of their arrival.
struct LimitQueue<ID: Hashable & Sendable, Limit: HostLimit>: HostState {
    /// The result of entering the queue.
    enum Entry: Hashable {
        /// The request may be sent.
        case admitted
        /// The request waits for this time, unless an earlier waiter gives up; or longer, if the limit has no room until another one ends.
        case waiting(Duration)
        /// The request would wait for this time, which is longer than the limit allows.
        case refused(Duration)
    }

    /// The limit, which a request that ends may change.
    var limit: Limit
    private var line = AgingQueue<ID>()

    init(_ limit: Limit) { self.limit = limit }

    var waitingCount: Int { line.count }

    /// The waiter that is next; `nil` if the queue is empty.
    var next: ID? { line.first }

    /// The number of the request that was admitted last.
    var lastToken: Int { limit.lastToken }

    /// The time at which the next waiter may be sent; `nil` if the queue is empty, or has no room. May be in the past.
    var nextTurn: EngineInstant? { line.isEmpty || !limit.hasRoom ? nil : limit.turn(behind: 0) }

    /// Admits the request, or adds the ID to the waiters. An ID enters once at a time.
    ///
    /// - Parameter longest: The time in nanoseconds that is too long to wait, regardless of the limit.
    mutating func enter(
        _ id: ID, _ priority: RequestPriority = .normal, at now: EngineInstant, longest: UInt64? = nil
    ) -> Entry {
        if enterAtOnce(at: now) { return .admitted }
        let entry = outlook(priority, at: now, longest: longest)
        if case .waiting = entry { line.enter(id, priority) }
        return entry
    }

    /// Returns the result of entering if the request is not admitted at once.
    func outlook(_ priority: RequestPriority = .normal, at now: EngineInstant, longest: UInt64? = nil) -> Entry {
        let wait = limit.turn(behind: line.countAhead(of: priority)).nanoseconds(since: now)
        let isTooLong = UInt64(wait) > limit.maximumWait ?? .max || UInt64(wait) >= longest ?? .max
        return isTooLong ? .refused(.nanoseconds(wait)) : .waiting(.nanoseconds(wait))
    }

    /// Admits a request, if the limit permits it and there are no waiters.
    mutating func enterAtOnce(at now: EngineInstant) -> Bool {
        guard line.isEmpty, limit.hasRoom, limit.turn(behind: 0) <= now else { return false }
        limit.take(at: now)
        return true
    }

    /// Removes a waiter. The waiters after it move up.
    mutating func leave(_ id: ID) { line.leave(id) }

    /// Returns the number of waiters before a waiter.
    func countAhead(of id: ID) -> Int { line.countAhead(of: id) ?? 0 }

    /// Removes the waiters whose turn has arrived, and returns them in order.
    mutating func admit(at now: EngineInstant) -> [ID] {
        var admitted: [ID] = []
        while let turn = nextTurn, turn <= now, let id = line.next() {
            // The request counts from the instant of its turn: a timer that is late does not slow a rate down.
            limit.take(at: turn)
            admitted.append(id)
        }
        return admitted
    }

    mutating func isForgettable(at now: EngineInstant) -> Bool { line.isEmpty && limit.isForgettable(at: now) }
}
