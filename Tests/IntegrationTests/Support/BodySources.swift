import Foundation

/// Sources of request bodies that behave in one way or another.
enum BodySource {
    struct Broken: Error {}

    /// Gives these chunks and ends.
    static func chunks(_ texts: String...) -> AsyncStream<Data> {
        AsyncStream { continuation in
            for text in texts { continuation.yield(Data(text.utf8)) }
            continuation.finish()
        }
    }

    /// Gives these chunks and then nothing, until its task is cancelled.
    static func stalled(after texts: String...) -> AsyncStream<Data> {
        AsyncStream { continuation in
            for text in texts { continuation.yield(Data(text.utf8)) }
        }
    }

    /// Gives these chunks and throws ``Broken``.
    static func broken(after texts: String...) -> AsyncThrowingStream<Data, any Error> {
        AsyncThrowingStream { continuation in
            for text in texts { continuation.yield(Data(text.utf8)) }
            continuation.finish(throwing: Broken())
        }
    }

    /// Gives chunks of 16 KiB for ever.
    static func endless() -> AsyncStream<Data> { AsyncStream { Data(count: 16 << 10) } }
}
