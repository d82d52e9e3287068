import CurlEngine

/// What all steps of a call have in common, however often they run.
final class CallSituation: Sendable {
    /// Tells the calls of a process apart; higher is later.
    let id: UInt64
    let deadline: CallDeadline
    /// The session's thread, whose clock is waited on.
    let engine: EngineExecutor
    /// The session's steps and the request's.
    let surroundings: AttachedSteps
    /// The answer is collected in memory.
    let isCollected: Bool
    let observer: CallObserver?
    /// What the first request on the wire has brought already.
    let answered: StepResponse?
    /// Who makes calls; `nil` for steps that are called without a session.
    let origin: (any CallOrigin)?
    let record: Locked<CallRecord>
    /// Counts what goes out, where that is more than one request at once.
    let starts: StartCount?

    init(
        id: UInt64, deadline: CallDeadline, engine: EngineExecutor, surroundings: AttachedSteps,
        isCollected: Bool = true, observer: CallObserver? = nil, answered: StepResponse? = nil,
        origin: (any CallOrigin)? = nil,
        record: Locked<CallRecord> = Locked(CallRecord())
    ) {
        self.id = id
        self.deadline = deadline
        self.engine = engine
        self.surroundings = surroundings
        self.isCollected = isCollected
        self.observer = observer
        self.answered = answered
        self.origin = origin
        self.record = record
        starts = surroundings.steps.hedging.map { _ in StartCount() }
    }
}

/// What is known of a call under way.
struct CallRecord: Sendable {
    /// The last request on the wire.
    var sent: PreparedRequest?
    /// What it waits for, for errors.
    var wait: CallWait?
    /// What its readers accept.
    var conditions = CallConditions()
    /// The requests that its attempts and hops that are over have sent.
    var traffic = EarlierTraffic.none
    /// The versions of the credentials with which it was sent again, by the keepers that renewed them.
    var renewals: [ObjectIdentifier: Int] = [:]
}

extension CallSituation {
    /// Notes how a request on the wire ended.
    func note(_ request: Request, _ error: (any Error)? = nil) {
        guard let error = error as? TrellisError, !error.maySentBytes else {
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

/// Makes calls that stand for several others: the session.
protocol CallOrigin: Sendable {
    /// What is left of a call as a call of its own, without a limit in total.
    ///
    /// - Parameter depth: How many of the steps around the call have run.
    func sharedCall(for request: Request, depth: Int, of call: CallSituation) -> any SharedCall
}

/// A call that stands for several others.
protocol SharedCall: Sendable {
    var id: UInt64 { get }
    /// The answer. Starts the call; the task's cancellation becomes the call's.
    func answer() async throws -> StepResponse
}
