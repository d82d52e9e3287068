import NIOCore

/// The reading of requests.
extension ConnectionHandler {
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .dropped = input { return }
        var bytes = unwrapInboundIn(data)
        // A client that always sends the beginning of its next request would otherwise make the buffer grow.
        if buffer.readerIndex > limits.pipelined { buffer.discardReadBytes() }
        if buffer.readableBytes == 0 { buffer = bytes } else { buffer.writeBuffer(&bytes) }
        process(context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // The reader of requests does not ask for more after the last one.
        if isLingering { context.read() }
    }

    func read(context: ChannelHandlerContext) {
        if mayRead { context.read() } else { isReadHeld = true }
    }

    private var mayRead: Bool {
        switch input {
        case .head, .dropped: true
        case .body: !isReaderBusy || isReaderGone
        case .complete: buffer.readableBytes < limits.pipelined
        }
    }

    func resumeReading() {
        guard isReadHeld || isLingering, mayRead, let context else { return }
        isReadHeld = false
        context.read()
    }

    /// Reads what has arrived, up to the end of a request.
    func process(_ context: ChannelHandlerContext) {
        do throws(Refusal) {
            while true {
                switch input {
                case .complete, .dropped: return
                case .head(var scanner):
                    guard try readHead(&scanner, context) else { return }
                case .body(var decoder, let source):
                    let chunk = try decoder.decode(&buffer)
                    input = .body(decoder, source)
                    setInputDeadline(after: limits.stall)
                    if let chunk, !isReaderGone, source.yield(chunk) == .stopProducing { hold() }
                    guard decoder.hasEnded else { return }
                    trailers.receive(decoder.trailers)
                    endBody(with: nil)
                    isReaderBusy = false
                    input = .complete
                    inputDeadline = nil
                }
            }
        } catch {
            refuse(error, context)
        }
    }

    private func hold() {
        isReaderBusy = true
        inputDeadline = nil
    }

    /// Reads a head, and passes on its request. Returns `false` if more bytes are needed.
    private func readHead(_ scanner: inout HeadScanner, _ context: ChannelHandlerContext) throws(Refusal) -> Bool {
        // Empty lines before a request are ignored (RFC 9112, section 2.2).
        while buffer.readableBytes >= 2, buffer.readableBytesView.starts(with: [13, 10]) {
            buffer.moveReaderIndex(forwardBy: 2)
            scanner = HeadScanner()
        }
        guard buffer.readableBytes > 0 else { return false }
        if !hasHeadDeadline {
            hasHeadDeadline = true
            setInputDeadline(after: limits.head)
        }
        let end = try scanner.end(of: buffer)
        input = .head(scanner)
        guard let end, let bytes = buffer.readBytes(length: end) else { return false }
        let head = try RequestHead(bytes[...])
        begin(ResponseEncoder(head))
        guard head.framing.hasBody else {
            input = .complete
            context.fireChannelRead(wrapInboundOut(.received(head, nil)))
            return true
        }
        let reader = ClientBodyReader(
            connection: NIOLoopBound(self, eventLoop: context.eventLoop), eventLoop: context.eventLoop, number: number)
        let chunks = ClientBody.Chunks.makeSequence(
            backPressureStrategy: .init(lowWatermark: 1, highWatermark: 4), finishOnDeinit: true, delegate: reader)
        input = .body(BodyDecoder(head.framing), chunks.source)
        trailers = ReceivedTrailers()
        let body = ClientBody(chunks: chunks.sequence, trailers: trailers)
        context.fireChannelRead(wrapInboundOut(.received(head, body)))
        return true
    }

    private func begin(_ encoder: ResponseEncoder) {
        output = encoder
        number += 1
        hasHeadDeadline = false
        isReaderBusy = false
        isReaderGone = false
        inputDeadline = nil
    }

    /// Ends the reading after a malformed or late request. A request whose head was read has its response from the error of its body.
    func refuse(_ refusal: Refusal, _ context: ChannelHandlerContext) {
        inputDeadline = nil
        buffer.clear()
        if case .body = input {
            endBody(with: .malformed(refusal))
            input = .dropped
            return
        }
        input = .dropped
        begin(ResponseEncoder(nil))
        context.fireChannelRead(wrapInboundOut(.refused(refusal)))
        context.fireChannelReadComplete()
    }

    /// Ends the body of the present request, if it is not complete.
    func endBody(with failure: ClientBodyFailure?) {
        guard case .body(_, let source) = input else { return }
        if let failure { source.finish(failure) } else { source.finish() }
    }

    // MARK: Calls from the reader of a body

    func readerHasDrained(of request: Int) {
        guard request == number, case .body = input else { return }
        isReaderBusy = false
        setInputDeadline(after: limits.stall)
        resumeReading()
    }

    func readerHasLeft(of request: Int) {
        guard request == number, case .body = input else { return }
        isReaderGone = true
        setInputDeadline(after: limits.stall)
        resumeReading()
    }
}
