import CurlEngine

/// The limits on the time of a request and of its phases. `nil` means no limit.
///
/// A value sets some of the limits and leaves the others unset: a limit that a ``Request`` does not set is its session's, and a
/// limit that neither sets has the default below.
///
/// ```swift
/// request.timeouts = Timeouts(total: .seconds(5))   // the other three are the session's
/// request.timeouts = Timeouts(idle: nil)            // no limit on time without a byte
/// ```
///
/// The verbs and handles of a session take the ``total`` alone too: `session.data(url, timeout: .seconds(5))`.
///
/// A limit of zero or less is over as soon as its phase begins; `nil` is the way to have no limit.
///
/// The framework's own timers enforce all limits. The following delays of a transfer do not count as idle, but count towards
/// ``total``: a slow reader of a stream, ``DataRequest/suspend()``, a limit on bandwidth, and, until the response begins, a
/// source of the request's body that has no bytes yet. A source that never continues delays an upload forever, unless a total is
/// set.
public struct Timeouts: Sendable, Hashable {
    /// The limits as set; ``inherited`` for each limit that is unset.
    private struct Limits: Sendable, Hashable {
        var connect: Duration?
        var responseHead: Duration?
        var idle: Duration?
        var total: Duration?
        var collectedTotal: Duration? = .seconds(300)
        /// The field, `nil` in the outer optional if it is unset.
        var deadlineField: DeadlineField??
    }

    /// The limits behind one reference, because the frame of every call that waits holds the limits that were passed to its verb.
    private var storage: Boxed<Limits>

    private var named: Limits {
        get { storage.value }
        set { storage = Boxed(newValue) }
    }

    /// The default of ``total`` for a response that is collected in memory: 300 seconds.
    package var collectedTotal: Duration? {
        get { named.collectedTotal }
        set { named.collectedTotal = newValue }
    }

    /// The time from leaving the queue until the connection is ready: name resolution, TCP and TLS. 10 seconds by default. The wait for a
    /// stream on HTTP/2 or HTTP/3 connections that carry as many requests as allowed does not count. The same limit holds for each of the
    /// functions that are asked meanwhile: a ``NameResolver``, the one of ``ProxyConfiguration/selecting(_:)``, and an evaluator of a
    /// ``ServerTrustManager``; and for the first read of the files of a ``TLSConfiguration``. With a limit of zero, only connections that
    /// exist are used: no other one is begun.
    public var connect: Duration? {
        get { named.connect.named(or: .seconds(10)) }
        set { named.connect = newValue }
    }
    /// The time from sending the last bytes of the request until the response's head has arrived. 60 seconds by default.
    ///
    /// The error has the kind ``TrellisError/Kind/responseTimeout``. When ``idle`` has the same length, this limit is reached first.
    public var responseHead: Duration? {
        get { named.responseHead.named(or: .seconds(60)) }
        set { named.responseHead = newValue }
    }
    /// The time without a byte in either direction, once connected. 60 seconds by default.
    public var idle: Duration? {
        get { named.idle.named(or: .seconds(60)) }
        set { named.idle = newValue }
    }
    /// The time from the call to the last byte of the body: queueing, connecting, sending and receiving together. A body that
    /// arrives in small amounts cannot exceed this limit.
    ///
    /// The default is five minutes for a response that is collected in memory, and no limit for streams, downloads and uploads.
    /// An upload is a request that the verbs and handles of that name send, or any request whose body is a file, a form or a
    /// sequence. A total that the session sets applies to each of its requests, but not to a download or an event source, which
    /// consist of several requests: these have a total if their own request sets one.
    public var total: Duration? {
        get { named.total.named(or: collectedTotal) }
        set { named.total = newValue }
    }

    /// The field that tells the server how much time is left of ``total``; `nil` if there is none. The default is none.
    ///
    /// A value that does not set it leaves the session's in force, as with the limits; `nil` means none, whatever the session has.
    public var deadlineField: DeadlineField? {
        get { named.deadlineField ?? nil }
        set { named.deadlineField = .some(newValue) }
    }

    /// Creates limits on time. A limit without an argument stays unset.
    public init(
        connect: Duration? = Timeouts.inherited, responseHead: Duration? = Timeouts.inherited,
        idle: Duration? = Timeouts.inherited, total: Duration? = Timeouts.inherited
    ) {
        storage = Boxed(Limits(connect: connect, responseHead: responseHead, idle: idle, total: total))
    }

    /// The value of a limit that is not set.
    public static let inherited: Duration? = .inherited

    /// The limits for a body without an end, in a session that sets a total: no ``total``, and the other limits unset.
    public static let endless = Timeouts(total: nil)
}

extension Timeouts {
    /// Returns `true` if all limits are equal.
    public static func == (left: Timeouts, right: Timeouts) -> Bool { left.named == right.named }

    /// Hashes all limits.
    public func hash(into hasher: inout Hasher) { hasher.combine(named) }

    /// Returns the total that applies.
    ///
    /// - Parameter hasDefault: Whether the default applies if no total is set, because the response is collected in
    ///   memory and the request is not an upload.
    package func total(hasDefault: Bool) -> Duration? {
        named.total.named(or: hasDefault ? collectedTotal : nil)
    }

    /// Returns these limits with a total of at least `limit`: the total that is set, or else the default for a response in
    /// memory, is raised to `limit`; `nil` if there is no total.
    package func withTotal(atLeast limit: Duration?) -> Timeouts {
        var timeouts = self
        let longer = { (total: Duration?) in limit.flatMap { limit in total.map { max($0, limit) } } }
        if named.total == .inherited {
            timeouts.collectedTotal = longer(collectedTotal)
        } else {
            timeouts.named.total = longer(named.total)
        }
        return timeouts
    }

    /// Returns these limits with a total of at most `limit`, also if no total is set.
    package func withTotal(atMost limit: Duration) -> Timeouts {
        var timeouts = self
        timeouts.named.total = min(total ?? limit, limit)
        return timeouts
    }

    /// Returns these limits, with each unset limit taken from the session.
    package func completed(by session: Timeouts) -> Timeouts {
        let (own, other) = (named, session.named)
        var timeouts = self
        timeouts.named = Limits(
            connect: own.connect.named(or: other.connect), responseHead: own.responseHead.named(or: other.responseHead),
            idle: own.idle.named(or: other.idle), total: own.total.named(or: other.total),
            collectedTotal: own.collectedTotal, deadlineField: own.deadlineField ?? other.deadlineField)
        return timeouts
    }

    /// Returns these limits with no total unless one is set: for work that consists of several requests.
    package var withoutInheritedTotal: Timeouts {
        var timeouts = self
        timeouts.named.total = named.total.named(or: nil)
        return timeouts
    }
}

extension Timeouts: CustomStringConvertible {
    /// The limits that are set, such as `Timeouts(connect: 5.0 s, total: none)`.
    public var description: String {
        let all = [
            ("connect", named.connect), ("responseHead", named.responseHead), ("idle", named.idle),
            ("total", named.total),
        ]
        var set = all.filter { $0.1 != .inherited }.map { "\($0.0): \($0.1?.rounded ?? "none")" }
        if let field = named.deadlineField { set.append("deadlineField: \(field?.name ?? "none")") }
        return "Timeouts(\(set.joined(separator: ", ")))"
    }
}

extension Duration {
    /// The mark of an unset limit; a real limit is never as short.
    fileprivate static let inherited = Duration(secondsComponent: .min, attosecondsComponent: 0)
}

extension Duration? {
    /// Returns the limit, or `other` if the limit is unset.
    fileprivate func named(or other: Duration?) -> Duration? { self == .inherited ? other : self }
}
