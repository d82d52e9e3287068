/// The receiver of the events of an ``HTTP2Session``.
///
/// Every call is made on the engine thread, from inside a method of the session. The receiver may call every method of the session during
/// such a call, except ``HTTP2Session/receive(_:)`` and ``HTTP2Session/fill(_:)``. After ``streamDidEnd(_:trailers:)``,
/// ``streamDidFail(_:_:)`` or ``HTTP2Session/cancel(_:_:)`` no call follows for the stream.
protocol HTTP2SessionDelegate: AnyObject {
    /// The present instant.
    var now: EngineInstant { get }

    /// Delivers a head with a status of 1xx.
    func stream(_ stream: HTTP2Stream, didReceiveInformational head: WireHead)
    /// Delivers the final head.
    func stream(_ stream: HTTP2Stream, didReceiveHead head: consuming WireHead)
    /// Delivers bytes of the body, which the reader takes: the server may send as many more. If the reader takes no further ones, the
    /// receiver calls ``HTTP2Session/hold(_:)``.
    func stream(_ stream: HTTP2Stream, didReceiveBody bytes: RawSpan)
    /// Notifies the receiver that the response is complete. If the request is not, the session has reset the stream, and asks for no more
    /// of the body.
    func streamDidEnd(_ stream: HTTP2Stream, trailers: WireFields)
    /// Notifies the receiver that the stream has failed.
    func streamDidFail(_ stream: HTTP2Stream, _ failure: EngineFailure)

    /// Writes the next bytes of the request's body into the room of a frame. Called for bodies that are streams.
    func fillBody(of stream: HTTP2Stream, into room: UnsafeMutableRawBufferPointer) -> HTTP2BodyPart
    /// Notifies the receiver that the head of the request is among the bytes that ``HTTP2Session/fill(_:)`` returns.
    func streamDidSendHead(_ stream: HTTP2Stream)
    /// Notifies the receiver that a part of the request's body is among these bytes.
    func streamDidSendBody(_ stream: HTTP2Stream)

    /// Notifies the receiver that ``HTTP2Session/capacity`` may have changed.
    func sessionDidChangeCapacity()
    /// Notifies the receiver of a GOAWAY, before the streams that it refuses have failed. The server takes no new streams.
    func sessionDidReceive(_ goAway: HTTP2GoAway)
    /// Notifies the receiver that the connection cannot be used any more, after all streams have failed, unless
    /// ``HTTP2Session/receive(_:)`` throws the failure. The bytes of the next ``HTTP2Session/fill(_:)`` tell the server.
    func sessionDidFail(_ failure: EngineFailure)
}

/// A part of a request's body.
struct HTTP2BodyPart {
    /// The number of bytes that were written. If it is zero, and the body has not ended, the body goes on after
    /// ``HTTP2Session/resumeBody(_:)``.
    var count: Int
    /// Whether the body ends with these bytes.
    var isEnd = false
    /// The fields after the body, if it ends.
    var trailers: HeaderLines?
}
