/// A disturbance of the connections of a ``FaultProxy``, as a value. The names come from Shopify's toxiproxy.
///
/// ```swift
/// proxy.toxics = [
///     .latency(.milliseconds(200), jitter: .milliseconds(50), of: .downstream),
///     .reset(after: .seconds(1)).with(probability: 0.1),
/// ]
/// ```
public struct Toxic: Sendable, Hashable {
    /// A direction of the bytes of a connection.
    public enum Direction: String, Sendable, Hashable, CaseIterable {
        /// From the client to the server.
        case upstream
        /// From the server to the client.
        case downstream
    }

    /// The effects of a toxic.
    public enum Effect: Sendable, Hashable {
        /// Bytes arrive later by `delay`, and by a random part of `jitter` more or less. Their order stays.
        case latency(Duration, jitter: Duration)
        /// No more than this number of bytes arrive in a second.
        case bandwidth(bytesPerSecond: Int)
        /// The end of the stream (FIN) arrives later.
        case slowClose(Duration)
        /// No byte arrives any more, and the connection is closed after a time, counted from when the toxic first applies to it; `nil` for
        /// never. Bytes that were sent meanwhile are lost.
        case timeout(Duration?)
        /// The connection is reset (RST) after a time, counted from when the toxic first applies to it.
        case reset(after: Duration)
        /// Bytes arrive in pieces of `size` bytes, and of up to `variation` bytes more or less, with a pause after each of them.
        case slicer(size: Int, variation: Int, pause: Duration)
        /// The connection is closed when this number of bytes has arrived, counted from its beginning.
        case byteLimit(Int)
    }

    /// The effect.
    public var effect: Effect
    /// The direction that is disturbed; `nil` for both.
    public var direction: Direction?
    /// The probability that a connection is disturbed, from 0 to 1. It is decided once for each connection.
    public var probability = 1.0

    /// Creates a toxic.
    public init(_ effect: Effect, of direction: Direction? = nil) {
        self.effect = effect
        self.direction = direction
    }

    /// Returns the same toxic for a random part of the connections.
    public func with(probability: Double) -> Toxic {
        var toxic = self
        toxic.probability = probability
        return toxic
    }

    /// Returns a toxic that delays bytes: without a direction, a request's and its response's.
    ///
    /// - Parameters:
    ///   - delay: The delay of all bytes.
    ///   - jitter: The most that a random time adds to the delay or takes from it.
    ///   - direction: The direction of the bytes; `nil`, the default, for both.
    public static func latency(
        _ delay: Duration, jitter: Duration = .zero, of direction: Direction? = nil
    ) -> Toxic {
        Toxic(.latency(delay, jitter: jitter), of: direction)
    }

    /// Returns a toxic that limits the bandwidth. The number must be positive.
    public static func bandwidth(bytesPerSecond: Int, of direction: Direction? = nil) -> Toxic {
        precondition(bytesPerSecond > 0, "a bandwidth must be positive: a timeout stops all bytes")
        return Toxic(.bandwidth(bytesPerSecond: bytesPerSecond), of: direction)
    }

    /// Returns a toxic that delays the end of the stream.
    public static func slowClose(_ delay: Duration, of direction: Direction? = nil) -> Toxic {
        Toxic(.slowClose(delay), of: direction)
    }

    /// Returns a toxic that stops all bytes, and closes the connection after a time; never, if the time is `nil`.
    public static func timeout(_ time: Duration?, of direction: Direction? = nil) -> Toxic {
        Toxic(.timeout(time), of: direction)
    }

    /// Returns a toxic that resets the connection after a time.
    public static func reset(after time: Duration = .zero) -> Toxic { Toxic(.reset(after: time)) }

    /// Returns a toxic that divides the stream into pieces. The size, in bytes, must be positive.
    ///
    /// - Parameters:
    ///   - size: The size of a piece in bytes.
    ///   - variation: How much larger or smaller a random piece may be, in bytes.
    ///   - pause: The pause after each piece.
    ///   - direction: The direction of the bytes; `nil`, the default, for both.
    public static func slicer(
        size: Int, variation: Int = 0, pause: Duration = .zero, of direction: Direction? = nil
    ) -> Toxic {
        precondition(size > 0, "a piece must have a byte")
        return Toxic(.slicer(size: size, variation: variation, pause: pause), of: direction)
    }

    /// Returns a toxic that closes the connection after a number of bytes.
    public static func byteLimit(_ count: Int, of direction: Direction? = nil) -> Toxic {
        Toxic(.byteLimit(count), of: direction)
    }
}

extension Toxic {
    /// Returns whether a direction is disturbed.
    func concerns(_ direction: Direction) -> Bool { self.direction == nil || self.direction == direction }
}
