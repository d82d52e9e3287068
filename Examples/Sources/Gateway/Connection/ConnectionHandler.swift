import Glibc
import HTTPTypes
import NIOCore

/// The HTTP/1.1 side of a client's connection: bytes become requests with their bodies, one at a time, and the parts of responses become
/// bytes. ``GatewayChannel`` says why it does not use the parser and the encoder of NIO.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ClientRequest
    typealias OutboundIn = ResponsePart
    typealias OutboundOut = ByteBuffer

    /// The state of what is read.
    enum Input {
        /// The next head is expected.
        case head(HeadScanner)
        /// The body of the present request is read.
        case body(BodyDecoder, ClientBody.Chunks.Source)
        /// The present request is complete. The next one is read after the response.
        case complete
        /// Bytes are read and dropped.
        case dropped
    }

    let limits: ClientLimits
    var input = Input.head(HeadScanner())
    /// The bytes that were received and are not part of a request yet.
    var buffer = ByteBuffer()
    /// The encoder of the present response; `nil` if none is due.
    var output: ResponseEncoder?
    /// The number of the present request.
    var number = 0
    /// Whether the reader of the body has enough for now.
    var isReaderBusy = false
    /// Whether the reader of the body has left: the rest is dropped.
    var isReaderGone = false
    /// Whether the channel has asked for more bytes and did not get them.
    var isReadHeld = false
    /// Whether the server is shutting down, so that no further request is read.
    var isDraining = false
    /// Whether the last response was sent, and the rest of the client's bytes is dropped.
    var isLingering = false
    /// Whether the client has ended its side of the connection.
    var isInputClosed = false
    /// The trailer section of the present request, which is empty until the body has ended.
    var trailers = ReceivedTrailers()
    /// The number of writes that the kernel has not taken.
    var pendingWrites = 0

    /// The instant at which the client is late with its bytes; `nil` if none are due.
    var inputDeadline: NIODeadline?
    /// Whether ``inputDeadline`` is for a head that has begun.
    var hasHeadDeadline = false
    /// The instant at which the client is late with its reading; `nil` if there is nothing to read.
    var outputDeadline: NIODeadline?
    /// The instant of the next probe; `nil` if the client has not ended its side, or gets no response.
    var probeDeadline: NIODeadline?
    /// The time between the last probe and the next one.
    var probeTime = TimeAmount.zero
    /// The timer of the earliest deadline, or of an earlier one that was moved.
    var timer: Scheduled<Void>?
    var timerDeadline: NIODeadline?
    var context: ChannelHandlerContext?

    init(limits: ClientLimits) { self.limits = limits }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        setInputDeadline(after: limits.idle)
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelInactive(context: ChannelHandlerContext) {
        endBody(with: .disconnected)
        input = .dropped
        inputDeadline = nil
        outputDeadline = nil
        probeDeadline = nil
        timer?.cancel()
        timer = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The reader of requests would take the event for the end of all requests, and some may be in the buffer.
        if event as? ChannelEvent == .inputClosed {
            isInputClosed = true
            return inputHasEnded(context)
        }
        if event is ChannelShouldQuiesceEvent {
            isDraining = true
            // A response that is due ends the connection.
            if output == nil { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    // MARK: Writing

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let promise = promise ?? context.eventLoop.makePromise()
        guard var encoder = output, !isLingering else { return promise.fail(ChannelError.ioOnClosedChannel) }
        var bytes = context.channel.allocator.buffer(capacity: 1024)
        var isLast = false
        do throws(ResponseEncoder.WrongLength) {
            switch unwrapOutboundIn(data) {
            case .informational(let response): encoder.writeInformational(response, to: &bytes)
            case .head(let response): encoder.writeHead(response, closing: isDraining || mustClose, to: &bytes)
            case .body(let data): try encoder.writeBody(data, to: &bytes)
            case .end(let trailers):
                try encoder.writeEnd(trailers, to: &bytes)
                isLast = true
            case .cut:
                promise.succeed()
                return cut(context)
            }
        } catch {
            promise.fail(error)
            return cut(context)
        }
        output = encoder
        pendingWrites += 1
        if pendingWrites == 1 { setOutputDeadline() }
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        promise.futureResult.whenSuccess { [isLast] in handler.value.wasWritten(isLast) }
        context.write(wrapOutboundOut(bytes), promise: promise)
    }

    private func wasWritten(_ isLast: Bool) {
        pendingWrites -= 1
        outputDeadline = nil
        if pendingWrites > 0 { setOutputDeadline() }
        if isLast { responseHasEnded() }
    }

    /// Whether the connection ends with the response, which says so (RFC 9112, section 9.6): the request has not been read to its
    /// end, and may never be.
    private var mustClose: Bool {
        switch input {
        case .head, .complete: false
        case .body, .dropped: true
        }
    }

    private func responseHasEnded() {
        guard let context, let encoder = output else { return }
        output = nil
        probeDeadline = nil
        guard case .complete = input, !encoder.mustClose, !isDraining else { return linger(context) }
        input = .head(HeadScanner())
        setInputDeadline(after: limits.idle)
        process(context)
        context.fireChannelReadComplete()
        if isInputClosed { inputHasEnded(context) }
        resumeReading()
    }

    /// Ends the connection in the middle of a response. Where the end of the connection would look like the end of the body, the connection
    /// is reset.
    func cut(_ context: ChannelHandlerContext) {
        if output?.endsWithConnection == true, let options = context.channel as? any SocketOptionProvider {
            options.setSoLinger(Glibc.linger(l_onoff: 1, l_linger: 0)).whenFailure { _ in }
        }
        output = nil
        context.close(promise: nil)
    }

    /// Ends the connection after the last response: the client's remaining bytes are read, because the kernel would otherwise reset the
    /// connection, and the client could lose the response.
    private func linger(_ context: ChannelHandlerContext) {
        isLingering = true
        endBody(with: .disconnected)
        input = .dropped
        buffer.clear()
        guard !isInputClosed else { return context.close(promise: nil) }
        context.close(mode: .output, promise: nil)
        setInputDeadline(after: limits.linger)
        resumeReading()
    }
}
