/// The size of a window in which content is received (RFC 9113, section 6.9), for a stream or a connection.
///
/// A window limits the rate to one window for each round trip. It doubles when half of it was taken within two round trips, because then
/// the window holds the server up and not the network. It only grows while the reader keeps up: what waits for a reader would fill a larger
/// window too, and only cost memory.
struct HTTP2ReceiveWindow: Hashable, Sendable {
    /// The number of round trips in which half of a window is taken that is too small.
    private static let roundTrips: Int64 = 2

    /// The size in bytes.
    private(set) var size: Int
    /// The largest size in bytes.
    let limit: Int
    /// The number of bytes that were taken since ``start``.
    private var taken = 0
    /// The instant from which the taken bytes are counted.
    private var start: EngineInstant

    /// Creates a window.
    init(size: Int, limit: Int, at now: EngineInstant) {
        (self.size, self.limit, start) = (size, max(size, limit), now)
    }

    /// Records that the reader took bytes.
    ///
    /// - Parameters:
    ///   - unread: The number of bytes that wait for the reader.
    ///   - roundTrip: The time of a round trip in nanoseconds; `nil` if it is unknown.
    /// - Returns: Whether the window has grown.
    mutating func take(_ count: Int, unread: Int = 0, roundTrip: Int64?, at now: EngineInstant) -> Bool {
        taken += count
        guard taken >= size / 2 else { return false }
        let time = now.nanoseconds(since: start)
        (taken, start) = (0, now)
        guard size < limit, let roundTrip, unread < size / 4, time <= Self.roundTrips * roundTrip else { return false }
        size = min(2 * size, limit)
        return true
    }
}
