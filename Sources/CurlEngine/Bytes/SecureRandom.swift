private import CCurl

/// Random numbers from the system's secure source, fetched in batches, because each fetch is a system call.
package struct SecureRandom: Sendable {
    /// The number of words in a batch: 256 bytes, which the system delivers in one piece.
    private static let batchSize = 64

    /// The words that were not used yet.
    private var words: [UInt32] = []

    /// Creates a source, which fetches its first batch when it is asked for a number.
    package init() {}

    /// Returns a number that nothing outside this process can predict. No number is used twice.
    package mutating func next() -> UInt32 {
        if words.isEmpty { words = Self.batch() }
        return words.removeLast()
    }

    /// Returns bytes that nothing outside this process can predict.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let word = next()
            for shift in stride(from: 0 as UInt32, to: 32, by: 8) where bytes.count < count {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return bytes
    }

    private static func batch() -> [UInt32] {
        var words = [UInt32](repeating: 0, count: batchSize)
        let isFilled = unsafe words.withUnsafeMutableBytes { bytes in
            unsafe bytes.baseAddress.map { unsafe ccurl_random($0, bytes.count) } ?? false
        }
        if isFilled { return words }
        // A system call that a sandbox forbids: the standard library has other ways to the same source.
        var generator = SystemRandomNumberGenerator()
        return words.map { _ in UInt32(truncatingIfNeeded: generator.next()) }
    }
}
