import CurlEngine
import FoundationEssentials
import HTTPTypes

// What an exchange has besides its state, and cannot be in a value. Every flag is in ``ExchangeState``.

/// The work in progress for an exchange.
struct ExchangeWork {
    /// The attempt.
    var task: (any TransportTask)?
    /// The pump of a body that comes from a source.
    var pump: BodyPump?
    /// The timer of the next time limit.
    var timer: EngineTimer?
    /// The timer of the wait for the server's permission to send the body.
    var continueTimer: EngineTimer?
}

/// The response of an exchange so far, without its body.
struct ReceivedResponse {
    var head: ResponseHead?
    var informational: [ResponseHead] = []
    var trailers = HTTPFields()
    /// The number of bytes of the decoded body.
    var bodyCount = 0
    /// The reason why the body was cut off, if it was.
    var bodyCut: BodyCut?
    /// The certificates of the server, if they were received.
    var trust: ServerTrust?
    /// The transport's measurements at the end of the attempt; `nil` before the end.
    var report: Boxed<TransportReport>?
}

/// The progress of the bodies of a request and its response, and the meters that measure it.
struct ExchangeMeters {
    var upload: ProgressBroadcaster?
    var download: ProgressBroadcaster?
    /// The number of bytes of the request's body that the transport has taken in this attempt.
    var sentBytes: Int64 = 0
    /// The number of bytes of the response's body that the download meter has counted.
    var measuredBytes: Int64 = 0
}

/// The tasks that wait for an exchange, with the results that are ready for them.
struct ExchangeWaiters {
    /// The reply to the task that waits for the complete response.
    var collected: Reply<CollectedResponse>?
    /// The reply to the task that waits for the head.
    var head: Reply<Response>?
    /// The reader of the body. Without one, the body is collected in memory.
    var inbox: BodyInbox?
    /// The result, once the exchange has ended.
    var result: Result<CollectedResponse, any Error>?
    /// The result for ``head`` that the loop is about to deliver.
    var headResult: Result<Response, any Error>?
    /// The closure that gets the metrics at the end of a streamed response; `nil` if it is not observed, or was called.
    var observer: (@Sendable (Metrics) -> Void)?
    /// The closure that is called on the engine thread at the end of a streamed response, if any.
    var atEnd: (@Sendable () -> Void)?
}

/// The order in which an exchange handles its inputs. The effects of one are complete before the next is handled, and inputs that come in
/// the meantime wait: a transport may report events while it is called, and would find the exchange between two effects.
///
/// A `Report` is a report of the transport that may lead to events, such as a head.
struct ExchangeTurn<Report> {
    /// What an exchange handles.
    enum Input {
        case event(ExchangeState.Event)
        case condition(ExchangeState.Condition)
        case report(Report)
    }

    /// What the exchange is doing.
    enum Stage {
        /// The exchange waits for an input.
        case idle
        /// The effects of an input are complete, and further inputs may wait.
        case between
        /// The exchange performs the effects of an input.
        case performing
    }

    var stage = Stage.idle
    /// The first input that waits, if it is an event. Few exchanges have another one, so that most need no memory here.
    var event: ExchangeState.Event?
    private var others = FIFO<Input>()

    /// Whether no input waits.
    var isEmpty: Bool { event == nil && others.isEmpty }

    /// Adds an input, which is handled after all that wait.
    mutating func add(_ input: Input) {
        if case .event(let new) = input, isEmpty { event = new } else { others.append(input) }
    }

    /// Takes the next input, if any.
    mutating func next() -> Input? {
        guard let first = event else { return others.popFirst() }
        event = nil
        return .event(first)
    }
}

/// A report of the transport that waits for its turn. A value, and no closure: most of them need no memory.
struct WaitingReport {
    /// What the transport reports.
    enum Content {
        case connected
        case step(TransferStep)
        indirect case protocolSwitch(ResponseHead, any DuplexConnection)
        case informational(ResponseHead)
        case head(ResponseHead)
        case bytes([UInt8])
        case chunk(Data)
        case needsBody
        case sentBody(Int)
        case end(TransportEnd)
    }

    let content: Content
    let attempt: ExchangeState.Attempt
}

/// The target of the timer that ends the wait for a silent server. Retains the exchange while the timer is set.
final class ContinueTimerTarget: EngineTimerTarget {
    private let request: ExchangeActor

    init(_ request: ExchangeActor) { self.request = request }

    func timerIsDue() { request.onEngineThread.endContinueWait() }
}

/// The end of an exchange whose call has ended.
struct ExchangeEnd: Sendable {
    /// The exchange's own error, if any.
    let failure: (any Error)?
    let metrics: Metrics
    /// Whether the exchange ended because of the call.
    let wasInProgress: Bool
    /// Whether the exchange had started before its end.
    let wasStarted: Bool
}
