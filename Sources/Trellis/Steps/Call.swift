import CurlEngine
import Synchronization

/// The way in which the body of a response reaches its reader.
package enum Delivery: Sendable {
    /// The body is collected in memory.
    case memory
    /// The body is delivered in chunks, at the pace of the reader.
    case stream
    /// The request asks the server to switch protocols. The body of a response that refuses is delivered as for ``stream``.
    case connection
}

/// A call: its fixed properties, and the record of its progress.
final class Call: Sendable {
    /// The number of the call in its process; later calls have higher ones.
    let id: UInt64
    /// The request as the caller asked for it, without the session's defaults.
    let request: Request
    let delivery: Delivery
    /// The limit in total, in nanoseconds; `nil` if the call has none.
    let limit: UInt64?
    /// The session's engine thread, with the clock on which steps wait.
    let engine: EngineExecutor
    /// Indicates whether the call began without an actor, and so without an engine of its own: each wait chooses one.
    private let isDirect: Bool
    let clock: any EngineClock
    /// The call's session; `nil` if the steps are called without one.
    let sender: (any RequestSender)?
    /// The observer that receives the events of the call; `nil` if the session has no observers.
    let observer: CallObserver?
    /// The observer of the exchanges of the call; `nil` if the call has none.
    let exchangeObserver: (any ExchangeObserver)?
    /// The number of exchanges that the observer has seen.
    let exchangeCount = Atomic(0)
    /// The instant at which the call was made; `nil` if the call is a handle's, whose time begins when it is started.
    private let start: EngineInstant?
    /// The retry budget that was the first to record the call's request.
    let firstBudget = FirstBudget()
    /// The changing state of the call. A direct call that succeeds at once has none.
    private let lazyRecord = LazyReference<Locked<CallRecord>>()
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
        isDirect: Bool = false,
        record: Locked<CallRecord>? = nil
    ) {
        self.id = id
        self.request = request
        self.delivery = delivery
        self.limit = limit
        self.engine = engine
        self.isDirect = isDirect
        self.clock = clock
        self.sender = sender
        self.observer = observer
        self.exchangeObserver = exchangeObserver
        self.start = start
        starts = isHedged ? StartCount() : nil
        if let record { _ = lazyRecord.storeIfNil(record) }
    }

    /// The engine thread for a wait of the call's steps.
    var waitingEngine: EngineExecutor { isDirect ? sender?.freeEngine ?? engine : engine }

    /// The changing state of the call, made when it is first needed.
    var record: Locked<CallRecord> { lazyRecord.load() ?? lazyRecord.storeIfNil(Locked(CallRecord())) }

    private static let count = Atomic<UInt64>(0)

    /// Returns the number for the next call of the process.
    static func nextID() -> UInt64 { count.add(1, ordering: .relaxed).newValue }

    /// The instant at which the call must have ended. For a handle's call that has not started, the time counts from now.
    var deadline: CallDeadline {
        CallDeadline(start: start ?? record.withLock { $0.start } ?? clock.now(), limit: limit, clock: clock)
    }

    /// The error with which the call was cancelled while it had neither an actor nor an exchange; `nil` if it was not.
    var cancellation: (any Error)? { lazyRecord.load()?.withLock { $0.cancellation } }

    /// Throws `CancellationError` if the task is cancelled or the call's result is decided, and the error of a call that was cancelled
    /// before its exchange.
    func checkCancellation() throws {
        try Task.checkCancellation()
        guard let record = lazyRecord.load() else { return }
        if let error = record.withLock({ $0.isDecided ? CancellationError() : $0.cancellation }) { throw error }
    }

    /// Begins the call's time, unless it has begun.
    func begin() {
        guard start == nil else { return }
        let now = clock.now()
        record.withLock { if $0.start == nil { $0.start = now } }
    }
}

/// The changing state of a call under way.
struct CallRecord: Sendable {
    /// The instant at which the call's handle was started; `nil` if the call is a verb's.
    var start: EngineInstant?
    /// Indicates whether the call's result is decided, by its task or by its actor.
    var isDecided = false
    /// The error with which the call was cancelled while it had neither an actor nor an exchange.
    var cancellation: (any Error)?
    /// The task that performs the call, if it has a task of its own.
    var work: Task<Void, Never>?
    /// The last request on the wire.
    var sent: PreparedRequest?
    /// The reason why the call waits besides a connection, for errors.
    var wait: CallWait?
    /// The conditions of the call's readers.
    var conditions = CallConditions()
    /// The kinds of requests that earlier exchanges of the call may have sent.
    var traffic = EarlierTraffic.none
    /// The exchanges that have ended, for a handle to show; `nil` if the call has no handle.
    var exchanges: [RequestExchange]?
    /// The last requests of the call that retry budgets have recorded, by budget.
    var budgetRecords: [ObjectIdentifier: BudgetRecord] = [:]
    /// The results of the last attempt's validations that observers have not been told.
    var validations: [(any Error)?] = []
    /// The records about the credentials of the call, by the stores that hold the credentials.
    var credentials: [ObjectIdentifier: CredentialRecord] = [:]
}

/// The URL and the host of a request that a retry budget has recorded.
struct BudgetRecord: Sendable {
    let url: String
    let host: String
}

/// An exchange of a request: a request on the wire, in one of its attempts.
public struct RequestExchange: Sendable {
    /// The number of the attempt, from 1. Redirects belong to the attempt that received them.
    public let attempt: Int
    /// The request as it was sent.
    public var request: Request { prepared.request }
    /// The metrics of the exchange; for a stream, up to the head of its response.
    public let metrics: Metrics
    /// The request of the exchange, kept so that its identity stays its own.
    let prepared: PreparedRequest
}

extension Call {
    /// The number of exchanges that a handle shows at most: the last ones of a call that is retried without end.
    static let maximumExchanges = 1_000
    /// The number of exchanges that may be under way at a time, of which each may be recorded twice.
    private static let recentExchanges = 64

    /// Records an exchange that has ended, if the call has a handle that shows exchanges.
    func record(_ prepared: PreparedRequest, _ metrics: Metrics?, attempt: Int) {
        record.withLock { record in
            let recent = record.exchanges?.suffix(Self.recentExchanges)
            guard recent?.contains(where: { $0.prepared === prepared }) == false else { return }
            if record.exchanges?.count == Self.maximumExchanges {
                record.exchanges?.removeFirst(Self.maximumExchanges / 10)
            }
            record.exchanges?.append(
                RequestExchange(attempt: attempt, metrics: metrics ?? Metrics(), prepared: prepared))
        }
    }

    /// Records that a request may have reached the server, unless the error shows that no bytes were sent.
    func note(_ request: Request, _ error: (any Error)? = nil) {
        guard let error = error as? TrellisError, !error.mayHaveSentBytes else {
            let traffic: EarlierTraffic = request.method.isIdempotent ? .idempotent : .other
            return record.withLock { $0.traffic = max($0.traffic, traffic) }
        }
    }
}

extension Locked: HeadValidator where Value == CallRecord {
    func refuses(_ head: ResponseHead, of request: Request) -> Bool {
        withLock { $0.conditions }.refuses(head, of: request)
    }
}

/// The reason why a call waits, besides the wait for a connection.
enum CallWait: Sendable {
    /// The call waits for its turn at a rate limiter.
    case rate(any WaitReporter, host: String, ticket: UInt64, since: EngineInstant)
    /// The call waits for the response to an identical request.
    case sharedAnswer(since: EngineInstant)
    /// The call waits for a function of the session's owner.
    case function(CallFunction, since: EngineInstant)

    /// The instant at which the wait began.
    var start: EngineInstant {
        switch self {
        case .rate(_, _, _, let start), .sharedAnswer(let start), .function(_, let start): start
        }
    }

    /// Indicates whether the call waits for its turn.
    var isQueue: Bool { if case .function = self { false } else { true } }

    /// The reason in words, for the detail of an error.
    var description: String {
        switch self {
        case .rate(let limiter, let host, let ticket, _): limiter.reasonForWaiting(ticket, host: host)
        case .sharedAnswer: "an identical request is under way, and its response has not come"
        case .function(let function, _): function.description
        }
    }
}

/// A function of the session's owner that a call asks before its request is sent.
enum CallFunction: Sendable {
    /// The ``NameResolver`` of the session.
    case resolver(host: String)
    /// The function of ``ProxyConfiguration/selecting(_:)``.
    case proxySelection
    /// The ``PACScript``, with its file or its download.
    case script
    /// The reading of the files of ``TLSConfiguration``, with the passphrase of a key.
    case trustFiles
    /// The evaluator of a host (``ServerTrustManager``).
    case evaluator(host: String)

    /// Indicates whether the function is the evaluator of a server.
    var isEvaluator: Bool { if case .evaluator = self { true } else { false } }

    /// The state of a function that has not returned, for the detail of an error.
    var description: String {
        switch self {
        case .resolver(let host): "the resolver has not found the addresses of \(host)"
        case .proxySelection: "the function that selects the proxies has not returned"
        case .script: "the PAC script has not named the proxies"
        case .trustFiles: "the certificates and keys, or their passphrase, have not been read"
        case .evaluator(let host): "the evaluator of \(host) has not decided"
        }
    }
}

/// A limiter that explains why a call waits.
protocol WaitReporter: AnyObject, Sendable {
    /// Returns the reason, in words, why the holder of a ticket waits.
    func reasonForWaiting(_ ticket: UInt64, host: String) -> String
}

/// A call whose remaining steps and exchange can be performed by a shared call.
protocol CallOrigin: Sendable {
    /// Returns a call that performs the rest of this call, without a limit in total.
    ///
    /// - Parameter depth: The number of steps around the call that have run.
    func sharedCall(for request: Request, depth: Int) -> any SharedCall
    /// The sum of the epochs of the credentials of the call: the sum changes whenever the user sets one of these credentials.
    var credentialEpoch: Int { get }
}

/// The sender of requests that belong to a call in flight: the call's session.
protocol RequestSender: AnyObject, Sendable {
    /// Returns the response to a step's own request, with its complete body. The request is a call without the steps that could
    /// wait for the call that sends it, and is sent even while the session drains.
    func answer(inFlight request: Request) async throws -> Answer
    /// The engine thread of the session for a new timer: that of the calling task, or one that is not stuck.
    var freeEngine: EngineExecutor { get }
}

/// A call that stands for several others.
protocol SharedCall: Sendable {
    var id: UInt64 { get }
    /// Starts the call and returns its response. Cancelling the task cancels the call, once no other reader waits.
    func answer() async throws -> StepResponse
}
