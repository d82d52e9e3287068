import Glibc
import HummingbirdCore
import Logging
import NIOCore

/// The connections of Hummingbird's server: each is served by a task of its own, one request after the other.
struct GatewayChannel: ServerChildChannel {
    typealias Value = NIOAsyncChannel<ClientRequest, ResponsePart>

    let relay: Relay
    let limits: ClientLimits

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            // A client that ends its side after its request may still wait for the response.
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
            try channel.syncOptions?.setOption(.tcpOption(.tcp_nodelay), value: 1)
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
