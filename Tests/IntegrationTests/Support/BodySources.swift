import Foundation

/// Sources of request bodies, correct and broken.
enum BodySource {
    /// The error of a source that ends early.
    struct Broken: Error {}

    /// Returns a source that yields these chunks and then ends.
    static func chunks(_ texts: String...) -> AsyncStream<Data> {
        AsyncStream { continuation in
            for text in texts { continuation.yield(Data(text.utf8)) }
            continuation.finish()
        }
    }

    /// Returns a source that yields these chunks, and then waits until its task is cancelled.
    static func stalled(after texts: String...) -> AsyncStream<Data> {
        AsyncStream { continuation in
            for text in texts { continuation.yield(Data(text.utf8)) }
        }
    }

    /// Returns a source that yields a chunk, and then waits until its task is cancelled.
    static func stalled(after chunk: Data) -> AsyncStream<Data> {
        AsyncStream { continuation in continuation.yield(chunk) }
    }

    /// Returns a source that yields these chunks and throws ``Broken``.
    static func broken(after texts: String...) -> AsyncThrowingStream<Data, any Error> {
        AsyncThrowingStream { continuation in
            for text in texts { continuation.yield(Data(text.utf8)) }
            continuation.finish(throwing: Broken())
        }
    }

    /// Returns a source that yields chunks of 16 KiB forever.
    static func endless() -> AsyncStream<Data> { AsyncStream { Data(count: 16 << 10) } }
}
