import CCurl

/// How content codings are taken off a body. libcurl would do it too, but takes a coded body that ends early for whole, and
/// decodes on while the transfer is paused.
extension Transfer {
    /// Makes a decoder for the first bytes of a body, where the head says that it is coded. `false` where nobody can decode it.
    func prepareDecoding() -> Bool {
        guard options.decodesContent, unsafe parser.hasContentEncoding else { return true }
        let codings = unsafe parser.contentCodings
        decoder = ContentDecoder(codings: codings)
        if decoder == nil {
            let names = codings.joined(separator: ", ")
            failure = EngineFailure(kind: .contentCoding, message: "the body's coding is unknown here: \(names)")
        }
        return decoder != nil
    }

    /// Decodes bytes and hands on what comes of them. `false` where they are not what their coding says.
    func decode(_ bytes: RawSpan, with decoder: ContentDecoder) -> Bool {
        do throws(ContentDecoder.Failure) {
            try decoder.decode(bytes) { handOn($0) }
            return true
        } catch {
            failure = EngineFailure(error)
            return false
        }
    }

    /// Goes on with what was kept while the reader made room. `false` as for ``decode(_:with:)``.
    func decodeFurther() -> Bool {
        guard let decoder, decoder.isHeldUp, !isReceivingPaused, !isSuspended, !isYielding else { return true }
        do throws(ContentDecoder.Failure) {
            try decoder.resume { handOn($0) }
            return true
        } catch {
            failure = EngineFailure(error)
            return false
        }
    }

    /// Decoded bytes are left that nobody has taken.
    var isHeldUp: Bool { decoder?.isHeldUp ?? false }

    private func handOn(_ piece: RawSpan) -> Bool {
        delegate?.transferDidReceiveBody(piece)
        if isTurnUsedUp(by: piece.byteCount) { yield() }
        return !isCancelled && !isReceivingPaused && !isSuspended && !isYielding
    }

    /// Counts decoded bytes. A few bytes on the wire can be gibibytes: all that are due in one turn of the loop would hold every other
    /// transfer up.
    private func isTurnUsedUp(by count: Int) -> Bool {
        if decodedTurn != engine.now { (decodedTurn, decodedBytes) = (engine.now, 0) }
        decodedBytes += count
        return decodedBytes >= Self.decodedPerTurn
    }

    /// The decoded bytes that a transfer hands on in one turn, at most.
    private static let decodedPerTurn = 4 << 20

    /// Holds the transfer up until the next turn.
    private func yield() {
        guard !isYielding else { return }
        isYielding = true
        engine.submit { [self] in
            isYielding = false
            decodedBytes = 0
            engine.update(self)
        }
        engine.update(self)
    }

    /// Whether the coded stream was whole, given that the message was.
    func finishDecoding() -> EngineFailure? {
        do throws(ContentDecoder.Failure) {
            try decoder?.finish()
            return nil
        } catch {
            return EngineFailure(error)
        }
    }
}

extension EngineFailure {
    fileprivate init(_ failure: ContentDecoder.Failure) {
        switch failure {
        case .corrupt(let coding): self.init(kind: .contentCoding, message: "the body is no valid \(coding.rawValue)")
        case .cutShort(let coding):
            self.init(kind: .contentCoding, message: "the body ends before its \(coding.rawValue) stream does")
        case .trailingBytes(let coding):
            self.init(kind: .contentCoding, message: "bytes follow the end of the \(coding.rawValue) stream")
        case .swollen(let coding):
            self.init(
                kind: .contentCoding, message: "the body's \(coding.rawValue) stream is far larger than what it holds")
        case .outOfMemory: self.init(kind: .outOfMemory, message: "no memory for decoding the body")
        }
    }
}
