import FoundationEssentials
import HTTPTypes
import NIOCore
import Synchronization

/// A request as a connection delivers it.
enum ClientRequest: Sendable {
    /// A request, with its body unless it has none.
    case received(RequestHead, ClientBody?)
    /// A request that is answered with an error.
    case refused(Refusal)
}

/// The body of a client's request, which is read from the connection at the pace of its reader.
struct ClientBody: AsyncSequence, Sendable {
    typealias Element = Data
    typealias Chunks = NIOThrowingAsyncSequenceProducer<
        ByteBuffer, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, ClientBodyReader
    >

    /// The bytes as they arrive. The sequence has one reader.
    let chunks: Chunks
    /// The fields after the body.
    let trailers: ReceivedTrailers
    /// Runs before the first chunk is read: a client that expects a 100 gets one.
    var whenRead: (@Sendable () async throws -> Void)?

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: Chunks.AsyncIterator
        var whenRead: (@Sendable () async throws -> Void)?

        @concurrent mutating func next() async throws -> Data? {
            if let whenRead {
                self.whenRead = nil
                try await whenRead()
            }
            return try await base.next().map { Data($0.readableBytesView) }
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: chunks.makeAsyncIterator(), whenRead: whenRead)
    }
}

/// The trailer section of a request, which its connection receives before the sequence of the body's chunks ends.
final class ReceivedTrailers: Sendable {
    private let value = Mutex(HTTPFields())

    /// The fields; empty until the body has ended.
    var fields: HTTPFields { value.withLock { $0 } }

    func receive(_ fields: HTTPFields) { value.withLock { $0 = fields } }
}

/// The link from the reader of a body to its connection.
struct ClientBodyReader: NIOAsyncSequenceProducerDelegate {
    let connection: NIOLoopBound<ConnectionHandler>
    let eventLoop: any EventLoop
    /// The number of the request on its connection.
    let number: Int

    /// Notes that the reader has taken most of the chunks.
    func produceMore() {
        eventLoop.execute { connection.value.readerHasDrained(of: number) }
    }

    /// Notes that the reader has left.
    func didTerminate() {
        eventLoop.execute { connection.value.readerHasLeft(of: number) }
    }
}

/// The end of a body that the client has not sent completely.
enum ClientBodyFailure: Error {
    /// The connection was closed.
    case disconnected
    /// Nothing has arrived for a while.
    case timedOut
    /// The framing is malformed.
    case malformed(Refusal)
}
