import NIOCore

/// Clients that end their side of the connection after their last request.
///
/// Such a client waits for its response, or has closed the connection as a whole, and TCP does not tell which. Therefore the client is
/// probed with bytes that have no meaning in HTTP: the system of a client that has gone answers them with a reset.
extension ConnectionHandler {
    /// Ends the connection, unless a response to a complete request is due.
    func inputHasEnded(_ context: ChannelHandlerContext) {
        switch input {
        case .head: context.close(promise: nil)
        case .body:
            endBody(with: .disconnected)
            input = .dropped
            context.close(promise: nil)
        case .complete: setProbe(after: limits.probe)
        // The response to a request that is refused follows at once.
        case .dropped: if isLingering { context.close(promise: nil) }
        }
    }

    /// Sends a probe, unless bytes of the response, which serve the same purpose, are under way.
    func probe(_ context: ChannelHandlerContext) {
        probeDeadline = nil
        guard var encoder = output else { return }
        if pendingWrites == 0 {
            var bytes = context.channel.allocator.buffer(capacity: 32)
            encoder.writeProbe(to: &bytes)
            output = encoder
            if bytes.readableBytes > 0 { context.writeAndFlush(wrapOutboundOut(bytes), promise: nil) }
        }
        setProbe(after: min(probeTime + probeTime, .seconds(60)))
    }
}
