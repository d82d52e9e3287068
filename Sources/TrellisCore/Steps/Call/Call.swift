package import CurlEngine
import Synchronization

/// A call: its fixed properties, and the record of its progress.
package final class Call: Sendable {
    /// The number of the call in its process; later calls have higher ones.
    package let id: UInt64
    /// The request as the caller asked for it, without the session's defaults.
    let request: Request
    /// The way in which the body reaches the caller.
    package let delivery: Delivery
    /// The limit in total, in nanoseconds; `nil` if the call has none.
    let limit: UInt64?
    /// The session's engine thread, with the clock on which steps wait.
    let engine: EngineExecutor
    /// Whether the call began without an actor, and so without an engine of its own: each wait chooses one.
    let beganWithoutActor: Bool
    /// The clock of the call's deadline and waits.
    package let clock: any EngineClock
    /// The call's session; `nil` if the steps are called without one.
    let sender: (any RequestSender)?
    /// The observer that receives the events of the call; `nil` if neither the session nor the request has observers.
    package let observer: CallObserver?
    /// The observer of the exchanges of the call; `nil` if the call has none.
    package let exchangeObserver: (any ExchangeObserver)?
    /// The number of exchanges that the observer has seen.
    let exchangeCount = Atomic(0)
    /// The instant at which the call was made; `nil` if the call is a handle's, whose time begins when it is started.
    private let start: EngineInstant?
    /// Whether the call began when it was made.
    var hasStart: Bool { start != nil }
    /// The retry budget that was the first to record the call's request.
    let firstBudget = FirstBudget()
    /// The changing state of the call. A call without an actor that succeeds at once has none.
    private let lazyRecord = LazyReference<Locked<CallRecord>>()
    /// The kinds of requests that earlier exchanges of the call may have sent, as the raw value of ``EarlierTraffic``.
    private let sentKinds = Atomic(EarlierTraffic.none.rawValue)
    /// The position in the session's list of calls without an actor, which guards it by its lock; -1 outside of the list.
    let listPosition = Atomic(-1)
    /// The number of attempts that were started; `nil` if the call is not hedged, so that its attempts are sent one after the
    /// other.
    let starts: StartCount?
    /// The transport that takes the place of the session's; `nil` if there is none.
    let transportOverride = TransportOverride.current

    /// - Parameter start: The instant at which the call was made; `nil` if the call is a handle's, whose time begins when it is
    ///   started.
    init(
        _ request: Request, id: UInt64 = Call.nextID(), delivery: Delivery, start: EngineInstant?, limit: UInt64?,
        engine: EngineExecutor, clock: any EngineClock, sender: (any RequestSender)? = nil,
        observer: CallObserver? = nil, exchangeObserver: (any ExchangeObserver)? = nil, isHedged: Bool = false,
        beganWithoutActor: Bool = false, record: Locked<CallRecord>? = nil
    ) {
        self.id = id
        self.request = request
        self.delivery = delivery
        self.limit = limit
        self.engine = engine
        self.beganWithoutActor = beganWithoutActor
        self.clock = clock
        self.sender = sender
        self.observer = observer
        self.exchangeObserver = exchangeObserver
        self.start = start
        starts = isHedged ? StartCount() : nil
        // A handle's call may never be started.
        if start != nil { observer?.open() }
        if let record { _ = lazyRecord.storeIfNil(record) }
        clock.follow(self)
    }

    /// The engine thread for a wait of the call's steps.
    var waitingEngine: EngineExecutor { beganWithoutActor ? sender?.freeEngine ?? engine : engine }

    /// The changing state of the call, made when it is first needed.
    var record: Locked<CallRecord> { lazyRecord.load() ?? lazyRecord.storeIfNil(Locked(CallRecord())) }

    /// The changing state of the call; `nil` if it was not needed yet.
    var existingRecord: Locked<CallRecord>? { lazyRecord.load() }

    private static let count = Atomic<UInt64>(0)

    /// Returns the number for the next call of the process.
    static func nextID() -> UInt64 { count.add(1, ordering: .relaxed).newValue }

    /// The instant from which the time of the call counts: now for a handle's call that has not started.
    package var beginning: EngineInstant { start ?? record.withLock { $0.start } ?? clock.now() }

    /// The instant at which the call must have ended.
    package var deadline: CallDeadline { CallDeadline(start: beginning, limit: limit, clock: clock) }

    /// The error with which the call was cancelled while it had neither an actor nor an exchange; `nil` if it was not.
    var cancellation: (any Error)? { existingRecord?.withLock { $0.cancellation } }

    /// Whether the call's result is decided.
    var isDecided: Bool { existingRecord?.withLock { $0.isDecided } ?? false }

    /// The error with which the call has ended while its steps are at work; `nil` if it has not.
    var endReason: (any Error)? { existingRecord?.withLock { $0.endReason ?? $0.cancellation } }

    /// Throws `CancellationError` if the task is cancelled or the call's result is decided, and the error of a call that was cancelled
    /// before its exchange.
    package func checkCancellation() throws {
        try Task.checkCancellation()
        guard let record = existingRecord else { return }
        if let error = record.withLock({ $0.isDecided ? CancellationError() : $0.cancellation }) { throw error }
    }

    /// The kinds of requests that earlier exchanges of the call may have sent.
    var traffic: EarlierTraffic { EarlierTraffic(rawValue: sentKinds.load(ordering: .relaxed)) ?? .other }

    /// Records that a request may have reached the server, unless the error shows that no bytes were sent.
    func note(_ request: Request, _ error: (any Error)? = nil) {
        let error = error as? TrellisError
        if let error, !error.mayHaveSentBytes { return }
        // What the server has not processed may be sent again, whatever its method.
        let isHarmless = request.method.isIdempotent || error?.isUnprocessed == true
        let traffic: EarlierTraffic = isHarmless ? .idempotent : .other
        if traffic > self.traffic { sentKinds.max(traffic.rawValue, ordering: .relaxed) }
    }

    /// Begins the call's time, unless it has begun. Until its end, the observers of the session wait for the call.
    func begin() {
        guard start == nil else { return }
        observer?.open()
        let now = clock.now()
        record.withLock { if $0.start == nil { $0.start = now } }
    }
}

/// What the record of a call says to its steps.
extension Call {
    /// The number of exchanges that a handle shows at most: the last ones of a call that is retried without end.
    static let maximumExchanges = 1_000
    /// The number of exchanges that may be under way at a time. Each may be recorded twice.
    private static let recentExchanges = 64

    /// Records an exchange that has ended, if the call has a handle that shows exchanges. Other calls need no copy of the metrics.
    func record(_ prepared: PreparedRequest, _ metrics: @autoclosure () -> Metrics?, attempt: Int) {
        existingRecord?.withLock { record in
            let recent = record.exchanges?.suffix(Self.recentExchanges)
            guard recent?.contains(where: { $0.prepared === prepared }) == false else { return }
            if record.exchanges?.count == Self.maximumExchanges {
                record.exchanges?.removeFirst(Self.maximumExchanges / 10)
            }
            record.exchanges?.append(
                RequestExchange(attempt: attempt, metrics: metrics() ?? Metrics(), prepared: prepared))
        }
    }

    /// Performs work with a record of the function that the call waits for, which the error of a deadline names.
    func waiting<Value>(
        for function: CallFunction, isolation: isolated (any Actor)? = #isolation, _ work: () async throws -> Value
    ) async throws -> Value {
        let start = clock.now()
        record.withLock { $0.wait = .function(function, since: start) }
        defer { record.withLock { $0.wait = nil } }
        return try await work()
    }

    /// Changes the number of waits that the call has when it is at rest.
    func changeWaitsAtRest(by difference: Int) { record.withLock { $0.waitsAtRest += difference } }

    /// Whether the call has begun, and its result is not decided.
    package var isUnderWay: Bool { record.withLock { (hasStart || $0.start != nil) && !$0.isDecided } }

    /// Returns the call's record about the credential of a store.
    func credentialRecord(of store: ObjectIdentifier) -> CredentialRecord {
        record.withLock { $0.credentials[store] ?? CredentialRecord() }
    }

    /// The number of attempts that were begun because a credential was renewed.
    var renewalCount: Int { record.withLock { $0.credentials.values.reduce(0) { $0 + $1.renewalCount } } }

    /// Changes the call's record about the credential of a store.
    func changeCredentialRecord(of store: ObjectIdentifier, _ change: (inout CredentialRecord) -> Void) {
        record.withLock { change(&$0.credentials[store, default: CredentialRecord()]) }
    }
}

extension Call: SentRequest {
    package var sentRequest: Request { request }
}

/// The way in which the body of a response reaches its reader.
package enum Delivery: Sendable {
    /// The body is collected in memory.
    case memory
    /// The body is delivered in chunks, at the pace of the reader.
    case stream
    /// The request asks the server to switch protocols. The body of a response that refuses is delivered as for ``stream``.
    case connection
}

/// The instant at which a call is ended, in any state: by ``RequestActor/timerIsDue()``, or by the exchange of a call without an actor,
/// whose ``Deadlines`` have the same limit.
package struct CallDeadline: Sendable {
    /// The instant at which the call was made.
    package let start: EngineInstant
    /// The instant of the deadline; `nil` if the call has none.
    package let end: EngineInstant?
    /// The clock of the instants.
    package let clock: any EngineClock

    /// Creates the deadline of a call.
    ///
    /// - Parameter limit: The limit in nanoseconds from the start; `nil` if there is none.
    package init(start: EngineInstant, limit: UInt64?, clock: any EngineClock) {
        self.start = start
        end = limit.map(start.advanced(byNanoseconds:))
        self.clock = clock
    }

    /// The time that is left, zero after the deadline; `nil` if the call has no deadline.
    package var remaining: Duration? { end.map { .nanoseconds($0.nanoseconds(since: clock.now())) } }

    /// The time since the call was made.
    var elapsed: Duration { .nanoseconds(clock.now().nanoseconds(since: start)) }
}

/// The changing state of a call under way.
struct CallRecord: Sendable {
    /// The instant at which the call's handle was started; `nil` if the call is a verb's.
    var start: EngineInstant?
    /// Whether the call's result is decided, by its task or by its actor.
    var isDecided = false
    /// The error with which the call has ended while its steps were at work: of its deadline, of its session or of its task.
    var endReason: (any Error)?
    /// The error with which the call was cancelled while it had neither an actor nor an exchange.
    var cancellation: (any Error)?
    /// The task that performs the call, if it has a separate task.
    var work: Task<Void, Never>?
    /// The reason why the call waits besides a connection, for errors.
    var wait: CallWait?
    /// The refreshes of credentials that the call waits for, by the numbers of their queues.
    var refreshes: [UInt64] = []
    /// The number of waits that the call has when it is at rest: more than one if several things may let it continue, or if its attempts
    /// are sent beside each other.
    var waitsAtRest = 1
    /// The conditions of the call's readers.
    var conditions = CallConditions()
    /// The exchanges that have ended, for a handle to show; `nil` if the call has no handle.
    var exchanges: [RequestExchange]?
    /// The last requests of the call that retry budgets have recorded, by budget.
    var budgetRecords: [ObjectIdentifier: BudgetRecord] = [:]
    /// The results of the last attempt's validations that observers have not been told.
    var validations: [(any Error)?] = []
    /// The addresses of the endpoints to which the call was sent, and has not succeeded.
    var usedEndpoints: Set<String> = []
    /// The records about the credentials of the call, by the stores that hold the credentials.
    var credentials: [ObjectIdentifier: CredentialRecord] = [:]
}

/// The URL and the host of a request that a retry budget has recorded.
struct BudgetRecord: Sendable {
    let url: String
    let host: String
}

extension Locked: HeadValidator where Value == CallRecord {
    func refuses(_ head: ResponseHead, of request: Request) -> Bool {
        withLock { $0.conditions }.refuses(head, of: request)
    }
}
