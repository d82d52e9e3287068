import CCurl

/// The bytes of a connection on which the server has switched protocols. Used on the engine thread.
struct ConnectionChannel {
    /// The result of an attempt to move bytes.
    enum Outcome {
        /// The number of bytes that were moved.
        case moved(Int)
        /// Nothing can be moved before the socket is ready.
        case mustWait
        /// Nothing can be moved before TLS has received more. Some of it may be there already.
        case mustReceive
        /// Nothing can be received before TLS has sent a message, for which the socket has no room.
        case mustSend
        /// The peer has sent all its bytes.
        case ended
        /// The connection has failed.
        case failed(EngineFailure)
    }

    private let link: WireLink
    /// Whether fewer received bytes than asked for are all that there are for now.
    var isPlain: Bool { link.tls == nil }

    init(_ link: WireLink) { self.link = link }

    /// Sends as many bytes as possible. After ``Outcome/mustWait``, the same bytes must be sent again.
    func send(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        outcome(of: unsafe link.send(bytes), "Send", CURLE_SEND_ERROR)
    }

    /// Receives bytes into a buffer.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        outcome(of: unsafe link.receive(buffer), "Recv", CURLE_RECV_ERROR)
    }

    /// Returns the outcome for a result of the link.
    func outcome(of result: Int, _ name: String, _ code: CURLcode) -> Outcome {
        switch Int32(clamping: result) {
        case 0: .ended
        case CCURL_TLS_WAIT: .mustWait
        case CCURL_TLS_MORE: .mustReceive
        case CCURL_TLS_FULL: .mustSend
        // Only TLS tells the end of the bytes from a connection that somebody has cut.
        case CCURL_TLS_CUT_OFF, CCURL_TLS_FAILED: .failed(link.failure(name, code))
        default: .moved(result)
        }
    }
}
