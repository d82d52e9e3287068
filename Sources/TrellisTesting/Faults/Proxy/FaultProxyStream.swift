import CurlEngine

/// The bytes of one direction on their way through a ``FaultProxy``, with the instants when they are sent: a value without a socket and
/// without a clock.
struct FaultProxyStream: Sendable {
    /// Bytes that are sent together.
    struct Piece: Sendable {
        var bytes: ArraySlice<UInt8>
        let due: EngineInstant
    }

    /// The end of the stream, after its last byte.
    struct End: Sendable, Hashable {
        let due: EngineInstant
        /// Whether the connection was reset by the sender.
        let isReset: Bool
    }

    /// The number of bytes that wait in the proxy before it stops reading.
    static let capacity = 64 << 10
    /// The number of bytes that are read at once.
    static let readSize = 16 << 10
    /// The number of pieces that the bytes of a second are sent in if the bandwidth is limited.
    private static let piecesPerSecond = 50

    /// The piece whose sending has begun or comes next.
    private var first: Piece?
    private var rest = FIFO<Piece>()
    /// The number of bytes that wait.
    private(set) var queued = 0
    /// The number of bytes that were accepted so far.
    private(set) var accepted = 0
    /// The end; `nil` while the stream has none.
    private(set) var end: End?
    /// Whether the connection ends with the last byte, because of a limit on its bytes.
    private(set) var isOverLimit = false
    private var lastDue = EngineInstant(nanoseconds: 0)
    /// The instant when the last byte has passed the bandwidth limit.
    private var busyUntil = EngineInstant(nanoseconds: 0)

    /// Whether there is room for more bytes.
    var hasRoom: Bool { queued < Self.capacity && end == nil && !isOverLimit }

    /// Whether no byte waits.
    var isEmpty: Bool { first == nil }

    /// The instant when something is to be sent next; `nil` if nothing waits.
    var nextDue: EngineInstant? { first?.due ?? end?.due }

    /// Takes bytes of the sender.
    mutating func take(
        _ bytes: [UInt8], _ toxics: [Toxic], now: EngineInstant, using generator: inout SeededGenerator
    ) {
        guard !isOverLimit, end == nil else { return }
        if toxics.contains(where: { if case .timeout = $0.effect { true } else { false } }) { return }
        var bytes = bytes[...]
        for case .byteLimit(let limit) in toxics.map(\.effect) where accepted + bytes.count >= limit {
            bytes = bytes.prefix(max(0, limit - accepted))
            isOverLimit = true
        }
        accepted += bytes.count
        let start = now.advanced(by: Self.delay(toxics, using: &generator))
        for (slice, pause) in Self.slices(of: bytes, toxics, using: &generator) {
            add(slice, toxics, due: max(start.advanced(by: pause), lastDue))
        }
    }

    /// Takes the end of the sender's stream.
    mutating func takeEnd(isReset: Bool, _ toxics: [Toxic], now: EngineInstant) {
        guard end == nil else { return }
        var due = now
        for case .slowClose(let delay) in toxics.map(\.effect) where !isReset { due = due.advanced(by: delay) }
        end = End(due: max(due, lastDue), isReset: isReset)
    }

    /// Returns the next bytes to send; `nil` if none are due.
    func next(now: EngineInstant) -> ArraySlice<UInt8>? {
        guard let first, first.due <= now else { return nil }
        return first.bytes
    }

    /// Removes bytes that were sent.
    mutating func didSend(_ count: Int) {
        queued -= count
        first?.bytes.removeFirst(count)
        if first?.bytes.isEmpty == true { first = rest.popFirst() }
    }

    /// Adds bytes that arrive together, in smaller pieces if the bandwidth is limited.
    private mutating func add(_ bytes: ArraySlice<UInt8>, _ toxics: [Toxic], due: EngineInstant) {
        let rates = toxics.compactMap { if case .bandwidth(let rate) = $0.effect { max(1, rate) } else { nil } }
        guard let rate = rates.min() else { return append(Piece(bytes: bytes, due: due)) }
        var left = bytes
        busyUntil = max(busyUntil, due)
        while !left.isEmpty {
            let piece = left.prefix(max(1, rate / Self.piecesPerSecond))
            left = left.dropFirst(piece.count)
            // Rounded down, so that the last byte of a second is not late.
            let time = UInt64(piece.count) * 1_000_000_000 / UInt64(rate)
            busyUntil = busyUntil.advanced(byNanoseconds: time)
            append(Piece(bytes: piece, due: busyUntil))
        }
    }

    private mutating func append(_ piece: Piece) {
        guard !piece.bytes.isEmpty else { return }
        queued += piece.bytes.count
        lastDue = piece.due
        if first == nil { first = piece } else { rest.append(piece) }
    }

    /// Returns the delay of bytes that arrive now.
    private static func delay(_ toxics: [Toxic], using generator: inout SeededGenerator) -> Duration {
        toxics.reduce(.zero) { sum, toxic in
            guard case .latency(let delay, let jitter) = toxic.effect else { return sum }
            guard jitter > .zero else { return sum + delay }
            let part = Int64.random(in: -1_000_000...1_000_000, using: &generator)
            return sum + max(.zero, delay + jitter * part / 1_000_000)
        }
    }

    /// Returns the pieces of bytes, with the pause before each.
    private static func slices(
        of bytes: ArraySlice<UInt8>, _ toxics: [Toxic], using generator: inout SeededGenerator
    ) -> [(bytes: ArraySlice<UInt8>, pause: Duration)] {
        for case .slicer(let size, let variation, let pause) in toxics.map(\.effect) {
            var (left, slices): (ArraySlice<UInt8>, [(bytes: ArraySlice<UInt8>, pause: Duration)]) = (bytes, [])
            while !left.isEmpty {
                let spread = max(0, variation)
                let change = spread == 0 ? 0 : Int.random(in: -spread...spread, using: &generator)
                let slice = left.prefix(max(1, size + change))
                slices.append((slice, pause * slices.count))
                left = left.dropFirst(slice.count)
            }
            return slices
        }
        return [(bytes, .zero)]
    }
}
