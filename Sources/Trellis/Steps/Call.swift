import CurlEngine
import Synchronization

/// How the body of a response reaches its reader.
package enum Delivery: Sendable {
    /// In one piece, collected in memory.
    case memory
    /// In chunks, at the pace of the reader.
    case stream
}

/// One call: what is known of it from the start, and one record of what becomes known.
final class Call: Sendable {
    /// The number of the call in its process; later calls have higher ones.
    let id: UInt64
    /// The request as the caller asked for it, without the session's defaults.
    let request: Request
    let delivery: Delivery
    /// The limit in total, in nanoseconds; `nil`: the call has none.
    let limit: UInt64?
    /// The session's thread, whose clock is waited on.
    let engine: EngineExecutor
    let clock: any EngineClock
    /// The call's session; `nil` for steps that are called without one.
    let sender: (any RequestSender)?
    /// Receives the events of the call; `nil` where the session has no observers.
    let observer: CallObserver?
    let record: Locked<CallRecord>
    /// Counts the exchanges that were started, where several attempts may be under way at once.
    let starts: StartCount?

    /// - Parameter start: When the call was made; `nil` for a handle's, whose time begins when it is started.
    init(
        _ request: Request, id: UInt64 = Call.nextID(), delivery: Delivery, start: EngineInstant?, limit: UInt64?,
        engine: EngineExecutor, clock: any EngineClock, sender: (any RequestSender)? = nil,
        observer: CallObserver? = nil, isHedged: Bool = false, record: Locked<CallRecord> = Locked(CallRecord())
    ) {
        self.id = id
        self.request = request
        self.delivery = delivery
        self.limit = limit
        self.engine = engine
        self.clock = clock
        self.sender = sender
        self.observer = observer
        self.record = record
        starts = isHedged ? StartCount() : nil
        if let start { record.withLock { $0.start = start } }
    }

    private static let count = Atomic<UInt64>(0)

    static func nextID() -> UInt64 { count.add(1, ordering: .relaxed).newValue }

    /// The instant at which the call must have ended. Until a handle's call is started, as if it were started now.
    var deadline: CallDeadline {
        CallDeadline(start: record.withLock { $0.start } ?? clock.now(), limit: limit, clock: clock)
    }

    /// Begins the call's time, unless it has begun.
    func begin() {
        let now = clock.now()
        record.withLock { if $0.start == nil { $0.start = now } }
    }
}

/// What becomes known of a call under way.
struct CallRecord: Sendable {
    /// When the call was made, or its handle was started.
    var start: EngineInstant?
    /// The call's result is decided: by its task or by its actor, whichever came first.
    var isDecided = false
    /// The task that performs the call, where that is one of its own.
    var work: Task<Result<StepResponse, any Error>, Never>?
    /// The last request on the wire.
    var sent: PreparedRequest?
    /// What it waits for, for errors.
    var wait: CallWait?
    /// What its readers accept.
    var conditions = CallConditions()
    /// The requests that its attempts and hops that are over have sent.
    var traffic = EarlierTraffic.none
    /// The exchanges that have ended, for a handle; `nil`: no handle shows them.
    var exchanges: [RequestExchange]?
    /// The versions of the credentials with which it was sent again, by the keepers that renewed them.
    var renewals: [ObjectIdentifier: Int] = [:]
}

/// One exchange of a request: a request on the wire, in one of its attempts.
public struct RequestExchange: Sendable {
    /// The number of the attempt, from 1 on. Redirects belong to the attempt that met them.
    public let attempt: Int
    /// The request as it was sent.
    public let request: Request
    /// The metrics of the exchange; for a stream, up to its head.
    public let metrics: Metrics
}

extension Call {
    /// Records an exchange that has ended, if a handle shows them.
    func record(_ prepared: PreparedRequest, _ metrics: Metrics?, attempt: Int) {
        record.withLock { record in
            guard record.exchanges != nil else { return }
            record.exchanges?.append(
                RequestExchange(
                    attempt: attempt, request: prepared.transportRequest.request, metrics: metrics ?? Metrics()))
        }
    }

    /// Notes how a request on the wire ended.
    func note(_ request: Request, _ error: (any Error)? = nil) {
        guard let error = error as? TrellisError, !error.mayHaveSentBytes else {
            let traffic: EarlierTraffic = request.method.isIdempotent ? .idempotent : .other
            return record.withLock { $0.traffic = max($0.traffic, traffic) }
        }
    }
}

extension Locked: HeadJudge where Value == CallRecord {
    func refuses(_ head: ResponseHead, of request: Request) -> Bool {
        withLock { $0.conditions }.refuses(head, of: request)
    }
}

/// What a call waits for besides a connection.
enum CallWait: Sendable {
    case rate(any WaitReporter, host: String, ticket: UInt64, since: EngineInstant)
    case sharedAnswer(since: EngineInstant)

    /// Since when.
    var start: EngineInstant {
        switch self {
        case .rate(_, _, _, let start), .sharedAnswer(let start): start
        }
    }

    /// In words.
    var description: String {
        switch self {
        case .rate(let limiter, let host, let ticket, _): limiter.reasonForWaiting(ticket, host: host)
        case .sharedAnswer: "an identical request is under way, and its answer has not come"
        }
    }
}

/// Says in words what a call waits for.
protocol WaitReporter: AnyObject, Sendable {
    func reasonForWaiting(_ ticket: UInt64, host: String) -> String
}

/// Makes calls that stand for several others.
protocol CallOrigin: Sendable {
    /// Returns what is left of a call as a call of its own, without a limit in total.
    ///
    /// - Parameter depth: The number of steps around the call that have run.
    func sharedCall(for request: Request, depth: Int) -> any SharedCall
}

/// Sends requests that belong to a call in flight: the call's session.
protocol RequestSender: Sendable {
    /// Returns the response to a request of a step's own, with its whole body. The request is a call without the steps that could
    /// wait for the one that sends it, and goes out while the session drains.
    func answer(inFlight request: Request) async throws -> Answer
}

/// A call that stands for several others.
protocol SharedCall: Sendable {
    var id: UInt64 { get }
    /// The answer. Starts the call; the task's cancellation becomes the call's.
    func answer() async throws -> StepResponse
}
