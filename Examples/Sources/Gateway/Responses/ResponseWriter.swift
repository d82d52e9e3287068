import FoundationEssentials
import HTTPTypes
import NIOCore

/// The writer of the responses on one connection. It waits while the channel has enough bytes for a slow client.
struct ResponseWriter: Sendable {
    /// The largest part of a body that is written at once, so that the progress of a slow client is seen.
    private static let pieceSize = 64 << 10

    let outbound: NIOAsyncChannelOutboundWriter<ResponsePart>
    let eventLoop: any EventLoop

    /// Writes a part of a response.
    func write(_ part: ResponsePart) async throws { try await outbound.write(part) }

    /// Writes bytes of a body.
    func write(_ chunk: Data) async throws {
        var rest = chunk
        while rest.count > Self.pieceSize {
            try await write(.body(rest.prefix(Self.pieceSize)))
            rest = rest.dropFirst(Self.pieceSize)
        }
        try await write(.body(rest))
        // The outbound writer lets its callers wait only once the event loop has seen that the channel is full. An event loop that is late
        // would otherwise be given the whole body.
        try await eventLoop.submit {}.get()
    }

    /// Writes a response of the gateway's own.
    func write(_ response: OwnResponse) async throws {
        try await outbound.write(
            contentsOf: [.head(response.head), .body(response.body), .end(trailers: HTTPFields())])
    }
}
