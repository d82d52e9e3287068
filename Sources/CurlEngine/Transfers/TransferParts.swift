/// The pauses of a transfer, each for its own reason.
struct TransferPauses {
    /// Whether the framework has paused receiving.
    var isReceivingPaused = false
    /// Whether the limit of decoded bytes in a turn of the loop was reached, so that the transfer waits for its turn to decode
    /// (``DecodingTurns``).
    var isYielding = false
    /// Whether sending is paused until more of the body is provided.
    var isSendingPaused = false
    /// Whether the framework has paused both directions.
    var isSuspended = false
    /// Whether the framework has paused sending.
    var isSendingHeld = false
    /// Whether the reader takes no bytes of the body now.
    var holdsBody: Bool { isSuspended || isReceivingPaused || isYielding }
    /// The pauses that are in effect, with the bits of `curl_easy_pause`: 1 for receiving, 4 for sending.
    var applied: Int32 = 0
}

/// The steps that a transfer has reported, or is to report.
struct StepReports {
    /// Whether a lookup that has not ended was reported.
    var isLookupReported = false
    /// The state of the report that the request was sent; other than `none` if the connection of the transfer is observed.
    var sending = Transfer.SendingReport.none
    /// Whether the sending of the head is reported for the connection, or does not have to be.
    var isHeadReported = true
}

/// The connection of the last attempt of a transfer.
struct TransferConnection {
    /// Whether the connection of the last attempt carries streams.
    var hadStreams = false
    /// The local port of that connection; 0 or less if it has none.
    var localPort: Int32 = 0
    /// What the TLS handshake over HTTP/3 has agreed on; `nil` without one.
    var tls: Boxed<TLSResult>?
    /// The progress on a connection over TCP, or on the way to one.
    var wire = WireProgress()
    /// The progress over HTTP/3.
    var http3 = HTTP3Progress()
    /// The connection after a switch of protocols, if any.
    var switched: SwitchedConnection?
    /// Whether the transfer leads the lookup of its host's name for all engines of the session.
    var hasClaimedName = false
    /// The requests for a tunnel through the proxy.
    var tunnel = TunnelRequests()
    /// The instant up to which a limit kept the transfer waiting for a stream; `nil` if none did.
    var waitEnd: EngineInstant?
    /// The connection that was opened for the transfer beside others, if any.
    var added: AddedConnection?
}

/// The repetitions of a transfer.
struct TransferRepetition {
    /// The number of times that the transfer was started again.
    var restarts = 0
    /// The repetitions of the request over HTTP/2.
    var onHTTP2: HTTP2Repetition?
    /// Whether the server has said that the connection of an earlier attempt was the wrong one (421).
    var wasMisdirected = false
    /// The source of the file descriptor for the transfer's connection.
    var descriptor = Transfer.Descriptor.ofSystem
}

/// The progress of the body that a transfer sends.
struct BodySending {
    /// Whether the delegate was asked for more of the body and has sent none since.
    var hasAskedForMore = false
    /// Whether bytes of a streamed body were passed to the connection. A body in memory does not count, because it can be sent again.
    var hasBegun = false
    /// The number of bytes of a streamed body that the connection has taken.
    var takenBytes: Int64 = 0
    /// Whether the rest of the body is dropped.
    var isStopped = false
    /// The lines after a chunked body, without line ends.
    var trailerLines: [[CChar]] = []
    /// The same lines as header lines; `nil` if there are none.
    var trailers: HeaderLines? { trailerLines.isEmpty ? nil : HeaderLines(terminated: trailerLines) }
}

/// The progress of the body that a transfer receives.
struct BodyReceiving {
    /// The number of body bytes received, before decoding.
    var count: Int64 = 0
    /// The content codings of the body, if they are decoded and the engine has read the head.
    var codings: [String] = []
    /// The decoder of the response body, if the body has content codings.
    var decoder: ContentDecoder?
    /// The end of the transfer, if the response was complete before the reader had taken all decoded bytes. In a box, because every
    /// transfer that waits would have room for it.
    var heldEnd: Boxed<TransferEnd>?
    /// Whether the transfer ends now, because its response is complete before the request's body.
    var mustFinishEarly = false
}
