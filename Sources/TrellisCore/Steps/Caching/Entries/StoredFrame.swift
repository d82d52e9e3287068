import FoundationEssentials
private import Synchronization

/// The stored bytes around received ones, which are stored with them as one entry.
final class StoredFrame: Sendable {
    /// The number of bytes that are copied at a time.
    private static let pieceSize: Int64 = 256 << 10

    private let body: any CachedBody
    private let combination: PartCombination
    /// Is called when the stored bytes cannot be read.
    private let onFailure: @Sendable () async -> Void
    /// The number of bytes that were received.
    private let count = Atomic<Int64>(0)

    /// - Parameter body: The body of the stored part.
    init(
        _ body: any CachedBody, _ combination: PartCombination, onFailure: @escaping @Sendable () async -> Void
    ) {
        (self.body, self.combination, self.onFailure) = (body, combination, onFailure)
    }

    /// Whether as many bytes were received as the combination has.
    var isFull: Bool { count.load(ordering: .relaxed) == Int64(combination.received.count) }

    /// Writes received bytes, and before the first ones the stored bytes that precede them.
    func write(_ bytes: Data, to writer: any CacheWriter) async throws {
        guard !bytes.isEmpty else { return }
        if count.load(ordering: .relaxed) == 0 { try await copy(combination.before, to: writer) }
        count.add(Int64(bytes.count), ordering: .relaxed)
        try await writer.write(bytes)
    }

    /// Writes the stored bytes that follow the received ones.
    func finish(_ writer: any CacheWriter) async throws { try await copy(combination.after, to: writer) }

    private func copy(_ range: Range<Int64>, to writer: any CacheWriter) async throws {
        let range = combination.stored(range)
        var start = range.lowerBound
        while start < range.upperBound {
            let end = min(start + Self.pieceSize, range.upperBound)
            try await writer.write(try await bytes(in: start..<end))
            start = end
        }
    }

    private func bytes(in range: Range<Int64>) async throws -> Data {
        do {
            return try await body.bytes(in: range)
        } catch {
            // A read that was cancelled says nothing about the bytes.
            if !Task.isCancelled { await onFailure() }
            throw error
        }
    }
}

/// The body of a stored part and of the received one that completes it, in memory.
struct CombinedBody: CachedBody {
    let stored: any CachedBody
    let received: Data
    let combination: PartCombination

    var length: Int64 { Int64(combination.range.count) }

    func bytes(in range: Range<Int64>) async throws -> Data {
        let start = combination.range.lowerBound
        let wanted = range.lowerBound + start..<range.upperBound + start
        var bytes = try await storedBytes(combination.before.clamped(to: wanted))
        let middle = combination.received.clamped(to: wanted)
        let first = received.startIndex - Int(combination.received.lowerBound)
        if !middle.isEmpty { bytes += received[first + Int(middle.lowerBound)..<first + Int(middle.upperBound)] }
        let end = try await storedBytes(combination.after.clamped(to: wanted))
        return end.isEmpty ? bytes : bytes + end
    }

    private func storedBytes(_ range: Range<Int64>) async throws -> Data {
        range.isEmpty ? Data() : try await stored.bytes(in: combination.stored(range))
    }
}
