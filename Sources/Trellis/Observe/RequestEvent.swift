/// A moment in the life of a call.
///
/// | a call that | brings, in this order |
/// |---|---|
/// | succeeds | `created`, `adapted` per adapter, then the attempt, `finished` |
/// | … the attempt | `queued`, `admitted`, `connected`, `informational` per head of 1xx, `head`, `attemptEnded` |
/// | is redirected | … `attemptEnded`, `redirected`, `queued` … |
/// | is retried | … `attemptEnded`, `retrying`, `adapted` … |
/// | is held up by a rate limit | `created`, `limited`, `queued` … |
/// | opens the circuit of its host, or closes it | … `attemptEnded`, `circuitOpened` or `circuitClosed` … |
/// | is hedged | … `connected`, `hedging`, and then the events of two attempts, told apart by their number |
/// | shares the answer of another | `created`, `joined`, `finished` |
/// | is read as something | … `finished`, `validated` per condition, `serialized` |
/// | is cancelled | … `attemptEnded` if an attempt was under way, `failed` |
/// | fails | … `attemptEnded` if an attempt was under way, `failed` |
///
/// Who reads an answer more than once validates and serializes it as often. `resumed` and `suspended` come whenever a handle is
/// used so. A stream is `finished` when its head is handed on; its `attemptEnded` comes behind that, with the end of its body.
/// A call that ends at its deadline or is cancelled has `failed` before its host's circuit hears of it.
public struct RequestEvent: Sendable {
    /// Tells the calls of a process apart; higher is later.
    public let callID: UInt64
    /// The attempt it belongs to, from 1 on.
    public let attempt: Int
    /// Since the call was made.
    public let elapsed: Duration
    /// What happened.
    public let kind: Kind

    /// What can happen.
    public enum Kind: Sendable {
        /// The call was made. The request is the caller's, without the session's defaults.
        case created(Request)
        /// A handle's ``DataRequest/resume()`` after it was held up.
        case resumed
        /// A handle's ``DataRequest/suspend()``.
        case suspended
        /// An adapter has returned; the request is what it made.
        case adapted(Request)
        /// The request, completed with the session's defaults, waits for a slot.
        case queued(Request)
        /// It has a slot: a connection is being made or found.
        case admitted
        /// The connection is ready, the request goes out.
        case connected
        /// A head of 1xx has come.
        case informational(ResponseHead)
        /// The final head has come.
        case head(ResponseHead)
        /// The request on the wire has ended, with an error or with its whole answer.
        case attemptEnded(Metrics, (any Error)?)
        /// The answer was a redirect, which is followed.
        case redirected(Redirect)
        /// The attempt has failed, and another follows after a while.
        case retrying(after: Duration, because: (any Error)?)
        /// A rate limit of the host holds the request up, for so long unless others go first or give up.
        case limited(host: String, wait: Duration)
        /// With this attempt the circuit of the host has opened, and stays so for a while: every request to the host fails at once.
        /// Also where it was open before, and the one request that was to see whether it can be closed has failed.
        case circuitOpened(host: String, for: Duration)
        /// This attempt was to see whether the circuit of the host can be closed, and has closed it.
        case circuitClosed(host: String)
        /// No answer has come for so long: another attempt begins beside the one under way.
        case hedging(after: Duration)
        /// The call waits for the answer to an identical request, which is another call's.
        case joined(callID: UInt64)
        /// The caller gets an answer.
        case finished(Response)
        /// The answer meets a condition of its reader's, or, with an error, does not.
        case validated((any Error)?)
        /// A serializer has made a value of the answer or, with an error, has not; how long that took.
        case serialized(Duration, (any Error)?)
        /// The caller gets an error: ``TrellisError``, `CancellationError`, or what a step threw.
        case failed(any Error)
    }
}
