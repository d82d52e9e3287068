import CurlEngine

/// The checks and windows of a session's connections over HTTP/2.
///
/// ```swift
/// configuration.http2.pingInterval = .seconds(30)
/// ```
///
/// A connection on which nothing has arrived for 15 s is checked before its next request too.
public struct HTTP2Configuration: Sendable, Hashable {
    /// The time without a byte after which a server has to show that it is there (PING; RFC 9113, section 6.7) while requests wait for it;
    /// `nil` if it never has to. The default is 15 s; a value less than 1 s is taken as 1 s.
    ///
    /// If it does not within ``pongTimeout``, the connection gets no more requests, and those that wait fail with an error of kind
    /// ``TrellisError/Kind/http2``. While a server answers and sends nothing else, the next PING comes after twice the time, and each
    /// further one after five minutes.
    public var pingInterval: Duration?
    /// The time for the answer to a PING. The default is 10 s; a value less than 1 s is taken as 1 s.
    public var pongTimeout: Duration
    /// The time without a byte after which a server has to show that it is there while no request waits; `nil`, the default, if it never
    /// has to. A value less than 1 s is taken as 1 s.
    public var idlePingInterval: Duration?
    /// The number of bytes of a body that a server may send before its reader takes them. The default is 16 MiB; a value less than 256 KiB
    /// is taken as 256 KiB.
    ///
    /// Each body begins with 256 KiB. The number grows while its reader keeps up and the server has to wait.
    public var maximumStreamWindow: Int

    /// Creates settings; values that are not given have their defaults.
    ///
    /// - Parameters:
    ///   - pingInterval: The time without a byte after which a server is checked while requests wait.
    ///   - pongTimeout: The time for the answer.
    ///   - idlePingInterval: The time without a byte after which a server is checked while no request waits; never unless given.
    ///   - maximumStreamWindow: The number of bytes of a body that a server may send before its reader takes them.
    public init(
        pingInterval: Duration? = .seconds(15), pongTimeout: Duration = .seconds(10),
        idlePingInterval: Duration? = nil, maximumStreamWindow: Int = 16 << 20
    ) {
        self.pingInterval = pingInterval
        self.pongTimeout = pongTimeout
        self.idlePingInterval = idlePingInterval
        self.maximumStreamWindow = maximumStreamWindow
    }
}

extension EngineConfiguration {
    /// Applies the settings of connections over HTTP/2.
    mutating func apply(_ settings: HTTP2Configuration) {
        /// Returns a time within the range that is of use, which also keeps its multiples in range.
        func usable(_ time: Duration) -> Duration { min(max(time, .seconds(1)), .seconds(1_000_000_000)) }
        pingInterval = settings.pingInterval.map(usable)
        pongTimeout = usable(settings.pongTimeout)
        idlePingInterval = settings.idlePingInterval.map(usable)
        largestWindow = min(max(settings.maximumStreamWindow, 256 << 10), Int(Int32.max))
    }
}
