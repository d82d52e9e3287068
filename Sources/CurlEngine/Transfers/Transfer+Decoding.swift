import CCurl

/// The decoding of content codings. libcurl could decode too, but it treats a coded body that ends early as complete, and continues
/// decoding while the transfer is paused.
extension Transfer {
    /// Creates a decoder at the first bytes of a body, if the head announces a coded body. Returns `false` if the coding is not supported.
    func prepareDecoding() -> Bool {
        guard options.decodesContent, unsafe isOnWire || parser.hasContentEncoding else { return true }
        let codings = unsafe isOnWire ? receiving.codings : parser.contentCodings
        receiving.decoder = ContentDecoder(codings: codings)
        if receiving.decoder == nil {
            let names = codings.joined(separator: ", ")
            failure = EngineFailure(kind: .contentCoding, message: "the content coding is not supported: \(names)")
        }
        return receiving.decoder != nil
    }

    /// Decodes bytes and delivers the result. Returns `false` if the bytes do not conform to their coding.
    func decode(_ bytes: RawSpan, with decoder: ContentDecoder) -> Bool {
        do throws(ContentDecoder.Failure) {
            try decoder.decode(bytes) { handOn($0) }
            return true
        } catch {
            failure = EngineFailure(error)
            return false
        }
    }

    /// Continues with the bytes that were kept until the reader made room. The result is as in ``decode(_:with:)``.
    func decodeFurther() -> Bool {
        guard let decoder = receiving.decoder, decoder.isHeldUp, !pauses.isReceivingPaused, !pauses.isSuspended,
            !pauses.isYielding
        else { return true }
        do throws(ContentDecoder.Failure) {
            try decoder.resume { handOn($0) }
            return true
        } catch {
            failure = EngineFailure(error)
            return false
        }
    }

    /// Whether decoded bytes are left that the reader has not taken.
    var isHeldUp: Bool { receiving.decoder?.isHeldUp ?? false }

    private func handOn(_ piece: RawSpan) -> Bool {
        delegate?.transferDidReceiveBody(piece)
        if unsafe engine.decoding.isUsedUp(by: piece.byteCount, turn: engine.executor.engineLoop.systemNow) { yield() }
        return !isCancelled && !pauses.isReceivingPaused && !pauses.isSuspended && !pauses.isYielding
    }

    /// Pauses the transfer until it is its turn to decode.
    private func yield() {
        guard !pauses.isYielding else { return }
        pauses.isYielding = true
        engine.update(self)
        unsafe engine.decoding.enter(self)
        engine.resumeDecodingSoon()
    }

    /// Returns the failure of a coded stream that is incomplete although its message is complete.
    func finishDecoding() -> EngineFailure? {
        do throws(ContentDecoder.Failure) {
            try receiving.decoder?.finish()
            return nil
        } catch {
            return EngineFailure(error)
        }
    }
}

extension CurlEngine {
    /// Lets waiting transfers decode in the next turn of the loop, in their order and up to the limit, and the others in later turns.
    func resumeDecodingSoon() {
        guard unsafe decoding.schedule() else { return }
        submit { [self] in
            unsafe decoding.jobBegins()
            let turn = executor.engineLoop.systemNow
            repeat {
                guard let transfer = unsafe decoding.next() else { return }
                transfer.pauses.isYielding = false
                update(transfer)
                applyChanges()
            } while unsafe !decoding.isUsedUp(turn: turn)
            resumeDecodingSoon()
        }
    }
}

extension EngineFailure {
    fileprivate init(_ failure: ContentDecoder.Failure) {
        self.init(kind: failure == .outOfMemory ? .outOfMemory : .contentCoding, message: failure.message)
    }
}
