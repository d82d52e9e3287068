/// A failure of the network or of a server, as a value that a test plans.
///
/// The same faults are played by a ``FaultTransport`` around a ``MockTransport``, and by a ``LoopbackServer`` over a socket
/// (``LoopbackServer/http(on:storesBodies:faults:clock:_:)``, ``LoopbackServer/https(on:tls:storesBodies:faults:clock:_:)``). Both lead
/// to an error of the same `TrellisError.Kind`.
///
/// ```swift
/// let faults: FaultPlan = [.first(2, .reset(.responseHead)), .always(.latency(.seconds(3), .responseHead))]
/// let session = Session(transport: FaultTransport(wrapping: mock, faults: faults))
/// ```
public enum Fault: Sendable, Hashable {
    /// The name of the host cannot be resolved.
    case unresolvedName
    /// Nothing listens on the port of the server, so that the connection is refused.
    case refusedConnection
    /// The TLS handshake fails. Only for `https` URLs.
    case tls(TLSFault)
    /// Nothing is sent or read any more from this moment on, and the connection stays open: a time limit of the client ends the exchange.
    case silence(Moment)
    /// The connection ends with a reset (RST) at this moment.
    case reset(Moment)
    /// The connection ends in order (FIN) at this moment; over TLS with a `close_notify` (RFC 8446, section 6.1).
    case close(Moment)
    /// The connection ends (FIN) at this moment, over TLS without a `close_notify`. A session checks that over HTTP/1.1.
    case closeWithoutNotify(Moment)
    /// The exchange waits for a time at this moment, and then continues.
    case latency(Duration, Moment)
    /// The body of the response comes in pieces of at most `bytes` bytes, with a pause of `every` before each of them.
    case drip(bytes: Int, every: Duration)
    /// The response breaks the rules of HTTP/1.1 (RFC 9112).
    case framing(FramingFault)
    /// The server ends the stream or the connection of HTTP/2 (RFC 9113). On a socket only by
    /// ``LoopbackServer/http2(on:faults:clock:response:)``.
    case http2(HTTP2Fault)

    /// A moment in an exchange when a fault happens.
    public enum Moment: Sendable, Hashable {
        /// The connection is being made. A reset and a close at this moment are a refused connection.
        case connecting
        /// The TLS handshake has begun: the first bytes of the client have arrived. Only for `https` URLs.
        case handshake
        /// The first bytes of the request have arrived, and its head was not read.
        case requestHead
        /// More than `after` bytes of the request's body have arrived. A request with a shorter body does not reach this moment.
        case requestBody(after: Int)
        /// The complete request was received, and no byte of the response was sent.
        case responseHead
        /// The head and `after` bytes of the response's body were sent, and more are to follow. A response with a shorter body does not
        /// reach this moment.
        case responseBody(after: Int)
        /// The complete body of the response was sent, and not its end. A response without a body, such as one of status 204, does not
        /// reach this moment.
        case end
    }
}

/// A failure of a TLS handshake.
public enum TLSFault: Sendable, Hashable {
    /// The server ends the handshake with the alert `handshake_failure` (RFC 8446, section 6.2).
    case handshake
    /// The server ends the handshake with the alert `protocol_version`: it supports none of the client's versions.
    case version
    /// The server has a certificate that the client does not accept.
    case certificate(CertificateFlaw)
    /// The server requires a certificate of the client.
    case clientCertificateRequired
}

/// A flaw of a server's certificate, so that a client does not trust the server (RFC 5280, section 6).
public enum CertificateFlaw: String, Sendable, Hashable, CaseIterable {
    /// The certificate has expired a day ago.
    case expired
    /// The certificate is valid from tomorrow on.
    case notYetValid
    /// The certificate is for another host, `elsewhere.example`.
    case wrongHost
    /// The certificate is its own issuer.
    case selfSigned
    /// The certificate was issued by an authority that is not trusted.
    case unknownAuthority
}

/// A response that breaks the rules of HTTP/1.1 (RFC 9112). The connection ends after it.
public enum FramingFault: Sendable, Hashable {
    /// The response begins with a line that is not a status line.
    case statusLine
    /// The head has a line without a colon among its fields.
    case fieldLine
    /// The head has two different fields `Content-Length`.
    case contentLengths
    /// A chunk has a size that is not a number, after more than `after` bytes of the body, or at the end of a shorter one.
    case chunkSize(after: Int)
    /// The field `Content-Length` is larger than the body, so that the body seems to be cut short.
    case lengthTooLarge(by: Int)
    /// The field `Content-Length` is smaller than the body, so that the client receives a part of the body, and no error.
    case lengthTooSmall(by: Int)
}

/// A failure of HTTP/2.
public enum HTTP2Fault: Sendable, Hashable {
    /// The server resets the stream (RFC 9113, section 6.4), before its head or after the given number of bytes of the body.
    case resetStream(HTTP2Code, afterBodyBytes: Int? = nil)
    /// The server ends the connection with GOAWAY (RFC 9113, section 6.8) instead of a response, and reports that it may have processed
    /// the request.
    case goAway(HTTP2Code)
}

/// A code of an error of HTTP/2 (RFC 9113, section 7).
public struct HTTP2Code: RawRepresentable, Sendable, Hashable {
    /// The number of the code.
    public let rawValue: UInt32

    /// Creates a code from its number.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The connection or stream ends without an error.
    public static let noError = HTTP2Code(rawValue: 0)
    /// The client has broken the protocol.
    public static let protocolError = HTTP2Code(rawValue: 1)
    /// The server has failed.
    public static let internalError = HTTP2Code(rawValue: 2)
    /// The server has not processed the request, which can be sent again.
    public static let refusedStream = HTTP2Code(rawValue: 7)
    /// The stream is not needed any more.
    public static let cancel = HTTP2Code(rawValue: 8)
    /// The client makes too much work.
    public static let enhanceYourCalm = HTTP2Code(rawValue: 11)
}

extension Fault {
    /// The end of the connection after `bytes` bytes of the response's body, whose rest is missing.
    public static func truncation(after bytes: Int) -> Fault { .close(.responseBody(after: bytes)) }

    /// A reset of the connection after `bytes` bytes of the response's body.
    public static func reset(after bytes: Int) -> Fault { .reset(.responseBody(after: bytes)) }

    /// A silence after `bytes` bytes of the response's body.
    public static func stall(after bytes: Int) -> Fault { .silence(.responseBody(after: bytes)) }

    /// A server that cannot be reached: packets to it are lost, so that the client's limit on connecting ends the exchange.
    public static var unreachable: Fault { .silence(.connecting) }
}

extension Fault: CustomStringConvertible {
    /// The fault in words, such as `reset (responseBody(after: 7))`.
    public var description: String {
        switch self {
        case .unresolvedName: "unresolved name"
        case .refusedConnection: "refused connection"
        case .tls(let fault): "TLS fault (\(fault))"
        case .silence(let moment): "silence (\(moment))"
        case .reset(let moment): "reset (\(moment))"
        case .close(let moment): "close (\(moment))"
        case .closeWithoutNotify(let moment): "close without close_notify (\(moment))"
        case .latency(let duration, let moment): "latency of \(duration) (\(moment))"
        case .drip(let bytes, let pause): "\(bytes) bytes each \(pause)"
        case .framing(let fault): "malformed response (\(fault))"
        case .http2(let fault): "HTTP/2 fault (\(fault))"
        }
    }
}

/// A fault that a server or a transport cannot play, or not at this place.
public struct UnplayableFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// The fault.
    public let fault: Fault
    /// The reason in words.
    public let reason: String

    /// The fault and the reason in words.
    public var description: String { "\(fault) cannot be played here: \(reason)" }
}
