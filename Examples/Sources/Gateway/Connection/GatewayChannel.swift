import Glibc
import HummingbirdCore
import Logging
import NIOCore

/// The connections of Hummingbird's server: each is served by a separate task, one request after the other.
///
/// Hummingbird listens, accepts, counts the connections and ends them. Its `HTTP1Channel` would speak HTTP/1 on them, with NIO's parser and
/// encoder, and is right for a server that makes its responses itself. A proxy needs more, which is written here:
///
/// - Any method, and fields byte for byte (``RequestHead``, ``ResponseEncoder``): NIO's parser refuses a method that is not in its list,
///   and its fields are `String`, in which a byte that is not UTF-8 becomes U+FFFD.
/// - The version of the client: `HTTPRequest` has none, so a client of HTTP/1.0 would get chunks and informational heads.
/// - The refusal of what two servers can read in two ways (``BodyFraming``, ``BodyDecoder``): NIO's parser passes on two `Host` fields,
///   chunks in HTTP/1.0, and `Transfer-Encoding: gzip, chunked`. A refusal says why, with its own status: 400, 408, 431, 501 or 505.
/// - Limits on the time of a head, a pause in a body and a reader that takes nothing (``ClientLimits``): `HTTP1Channel` has one for
///   connections without a request.
/// - The end of a connection (``ConnectionHandler``): the probes of a client that has ended its side, the reset of a cut body that ends
///   with its connection, and an early response that does not wait for the rest of the request.
struct GatewayChannel: ServerChildChannel {
    typealias Value = NIOAsyncChannel<ClientRequest, ResponsePart>

    let relay: Relay
    let limits: ClientLimits

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            // A slow client then frees the buffer in small steps, so that its progress is seen, and few bytes wait for it.
            try channel.syncOptions?.setOption(
                .tcpOption(NIOBSDSocket.Option(rawValue: TCP_NOTSENT_LOWAT)), value: limits.unsent)
            try channel.pipeline.syncOperations.addHandler(ConnectionHandler(limits: limits))
            return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
        }
    }

    /// Serves a connection to its end. A client that goes away cancels its request.
    func handle(value channel: Value, logger: Logger) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await channel.channel.closeFuture.get() }
            group.addTask { await serve(channel) }
            await group.next()
            group.cancelAll()
        }
    }

    private func serve(_ channel: Value) async {
        do {
            try await channel.executeThenClose { inbound, outbound in
                let writer = ResponseWriter(outbound: outbound, eventLoop: channel.channel.eventLoop)
                for try await request in inbound { try await relay.respond(to: request, through: writer) }
            }
        } catch {
            // The connection has ended, which the client sees.
        }
    }
}
