/// A request and its response on an ``HTTP2Session``. It belongs to the engine thread.
final class HTTP2Stream {
    /// The request on its way.
    struct Sending {
        /// The number of bytes that the head would have in HTTP/1.1.
        var headSize = 0
        /// The body, if it is in memory, and the number of its bytes that were written.
        var bytes: [UInt8] = []
        var start = 0
        /// The number of bytes that are still to be sent; `nil` if it is unknown.
        var rest: Int64?
        /// Whether the body is delivered by the session's delegate.
        var isStream = false
        /// Whether the body waits for ``HTTP2Session/resumeBody(_:)``, whatever bytes there are.
        var isHeldBack = false
        /// Whether the delegate is being asked for bytes, and has told meanwhile that there are some.
        var isAsking = false, mustAskAgain = false
        /// Whether the last part is as long as the server's windows allowed.
        var isCut = false
    }

    /// The response's body on its way.
    struct Receiving {
        /// The number of bytes that are still to arrive; `nil` if it is unknown.
        var rest: Int64?
        /// The bytes that were received while the reader took none, from ``start`` on.
        var held: [UInt8] = []
        var start = 0
        /// What follows the held bytes, if the stream has ended.
        var end: Result<WireFields, EngineFailure>?

        var heldCount: Int { held.count - start }
    }

    /// What an extended CONNECT asks for (RFC 8441).
    struct Upgrade {
        /// The request, while it waits for the server's settings.
        var waiting: TransferOptions?
        /// The other protocol's bytes, if the server has accepted it.
        var connection: SwitchedConnection?
        /// Whether the stream ends with the bytes that are left.
        var isLeaving = false
    }

    /// The number of the stream (RFC 9113, section 5.1.1).
    var number: Int32 = 0
    /// The place of the stream in its session.
    var index = 0
    /// The transfer whose request the stream carries, if any. Only the user of the session uses it.
    var transfer: Transfer?
    /// The properties of the request on which the reading of its response depends.
    let traits: HTTP1RequestTraits
    /// The limit in bytes on all heads together, and on the trailers.
    let headLimit: Int

    /// Whether the head of the request was sent.
    var isHeadSent = false
    /// Whether the complete request was sent.
    var isRequestSent = false
    /// Whether the final head was received.
    var hasFinalHead = false
    /// The number of bytes of all heads, and of the trailer fields, as they would be in HTTP/1.1.
    var headBytes = 0
    /// The code with which the server has reset the stream, if it has.
    var resetCode: HTTP2ErrorCode?
    /// Whether the reader takes no bytes now.
    var isHeld = false
    /// Whether neither the response has ended nor the stream has failed.
    var isActive = true

    // Exclusivity is unchecked: one thread uses these values, and no access to one of them calls code that uses it.
    @exclusivity(unchecked) var sending = Sending()
    @exclusivity(unchecked) var receiving = Receiving()
    /// The window for the response's body; `nil` before the first bytes.
    @exclusivity(unchecked) var window: HTTP2ReceiveWindow?
    /// The other protocol of the stream, if the request asks for one.
    @exclusivity(unchecked) var upgrade: Upgrade?

    /// Whether the rest of the request's body is held back.
    var isBodyHeldBack: Bool { unsafe sending.isHeldBack }

    /// The number of bytes of the request that were sent, apart from what a delegate has delivered.
    var sentCount: Int { isHeadSent ? unsafe sending.headSize + sending.start : 0 }

    init(_ options: TransferOptions) {
        var traits: HTTP1RequestTraits = []
        if options.method == "HEAD" { traits.insert(.isHead) }
        if options.method == "CONNECT" { traits.insert(.isConnect) }
        self.traits = traits
        headLimit = options.maximumHeaderBytes
        if options.isExtendedConnect { unsafe (upgrade, sending.isHeldBack) = (Upgrade(), true) }
        switch options.body {
        case .none: break
        case .bytes(let bytes): unsafe (sending.bytes, sending.rest) = (bytes, Int64(bytes.count))
        case .stream(let length): unsafe (sending.isStream, sending.rest) = (true, length)
        }
    }

    /// Whether the server has accepted another protocol.
    var isSwitched: Bool { unsafe upgrade?.connection != nil }
    /// Whether the response has ended, after which nothing follows but held bytes. The client's bytes of another protocol may follow.
    var hasEnded: Bool {
        switch unsafe receiving.end {
        case nil: false
        case .success: !isSwitched
        case .failure: true
        }
    }
}
