/// How long a request may take, and each part of it. `nil` means no limit.
///
/// A value names some of the limits and leaves the others open: those that a ``Request`` does not name are its session's, and
/// those that neither names have the defaults below.
///
/// ```swift
/// request.timeouts = Timeouts(total: .seconds(5))   // the other three are the session's
/// request.timeouts = Timeouts(idle: nil)            // no limit on silence
/// ```
///
/// All are kept by the framework's own timers. Time in which the reader of a stream, ``DataRequest/suspend()``, a limit on bandwidth
/// or, until the answer begins, the source of the request's body, which has no bytes yet, holds up the transfer does not count as
/// idle, but it counts towards ``total``. A source that never goes on holds up an upload for ever, unless a total is named.
public struct Timeouts: Sendable, Hashable {
    private var namedConnect: Duration?
    private var namedResponseHead: Duration?
    private var namedIdle: Duration?
    private var namedTotal: Duration?
    /// The total of an answer that is collected in memory, where none is named.
    package var collectedTotal: Duration? = .seconds(300)

    /// From leaving the queue until the connection is ready: name resolution, TCP and TLS. Ten seconds unless named.
    public var connect: Duration? {
        get { namedConnect.named(or: .seconds(10)) }
        set { namedConnect = newValue }
    }
    /// From sending the last bytes of the request until the response's head has come. 60 seconds unless named.
    public var responseHead: Duration? {
        get { namedResponseHead.named(or: .seconds(60)) }
        set { namedResponseHead = newValue }
    }
    /// Without a byte in either direction, once connected. 60 seconds unless named.
    public var idle: Duration? {
        get { namedIdle.named(or: .seconds(60)) }
        set { namedIdle = newValue }
    }
    /// From the call to the last byte of the body: queueing, connecting, sending and receiving together. A body that drips
    /// cannot outlive it.
    ///
    /// Unless named, five minutes for an answer that is collected in memory, and no limit for streams, downloads and uploads. An
    /// upload is what the verbs and handles of that name send, and any request whose body is a file, a form or a sequence. A
    /// total that the session names holds for each of its requests, but not for a download or an event source, which are made of
    /// several: those have one where their request names it.
    public var total: Duration? {
        get { namedTotal.named(or: collectedTotal) }
        set { namedTotal = newValue }
    }

    /// Limits on time. One that is not given is not named.
    public init(
        connect: Duration? = Timeouts.inherited, responseHead: Duration? = Timeouts.inherited,
        idle: Duration? = Timeouts.inherited, total: Duration? = Timeouts.inherited
    ) {
        namedConnect = connect
        namedResponseHead = responseHead
        namedIdle = idle
        namedTotal = total
    }

    /// Stands for a limit that is not named.
    public static let inherited: Duration? = .inherited

    /// As the defaults, without ``total``: for a body without an end, where the session names one.
    public static let endless = Timeouts(total: nil)
}

extension Timeouts {
    /// The total that holds.
    ///
    /// - Parameter hasDefault: There is one also where none is named: the answer is collected in memory, and nothing is uploaded.
    func total(hasDefault: Bool) -> Duration? {
        namedTotal.named(or: hasDefault ? collectedTotal : nil)
    }

    /// These limits, with a total of at least so long: the one that is named, or the one of an answer in memory; `nil`: none.
    package func withTotal(atLeast limit: Duration?) -> Timeouts {
        var timeouts = self
        let longer = { (total: Duration?) in limit.flatMap { limit in total.map { max($0, limit) } } }
        if namedTotal == .inherited {
            timeouts.collectedTotal = longer(collectedTotal)
        } else {
            timeouts.namedTotal = longer(namedTotal)
        }
        return timeouts
    }

    /// These limits, and of those that they do not name the session's.
    func completed(by session: Timeouts) -> Timeouts {
        var timeouts = self
        timeouts.namedConnect = namedConnect.named(or: session.namedConnect)
        timeouts.namedResponseHead = namedResponseHead.named(or: session.namedResponseHead)
        timeouts.namedIdle = namedIdle.named(or: session.namedIdle)
        timeouts.namedTotal = namedTotal.named(or: session.namedTotal)
        return timeouts
    }

    /// These limits, with no total unless they name one: for work that is made of several requests.
    var withoutInheritedTotal: Timeouts {
        var timeouts = self
        timeouts.namedTotal = namedTotal.named(or: nil)
        return timeouts
    }
}

extension Duration {
    /// No limit is as short as this.
    fileprivate static let inherited = Duration(secondsComponent: .min, attosecondsComponent: 0)
}

extension Duration? {
    /// The limit, or another where it is not named.
    fileprivate func named(or other: Duration?) -> Duration? { self == .inherited ? other : self }
}
