import CCurl
private import Glibc

/// The reason for a failed transfer. The framework converts it to the error that users see.
package struct EngineFailure: Error, Sendable {
    /// The kinds of failure.
    package enum Kind: Hashable, Sendable {
        /// The engine, or the running libcurl, does not support the request.
        case unsupported
        /// The URL has a malformed part that only a transfer checks, such as the length of the host.
        case malformedURL
        /// The name of the host or of the proxy could not be resolved.
        case nameResolution
        /// The connection could not be established.
        case connect
        /// A connection would have to be made, and the time limit for that is zero.
        case connectLimit
        /// No connection may be made to the address, which is in a denied network.
        case egressRefused(IPAddress, AddressPrefix)
        /// The interface or the address of this machine from which connections are to be made cannot be used.
        case source
        /// The TLS handshake failed.
        case tlsHandshake
        /// No version of TLS is common to both sides.
        case tlsVersion(TLSPeer)
        /// The peer's certificate is not trusted; `nil` if the certificate is not known.
        case untrusted(RejectedCertificate?)
        /// The client certificate is the reason, with the number of the peer's alert (RFC 8446, section 6.2); 0 if there was none.
        case clientCertificate(ClientCertificateCause, alert: Int32, TLSPeer)
        /// The certificate authorities or the revocation lists could not be read.
        case certificateAuthorityFile
        /// The connection failed while the request was being sent.
        case send
        /// The connection failed while the response was being received.
        case receive
        /// The connection ended without a response.
        case emptyReply
        /// The response ended before its body was complete.
        case bodyCutShort
        /// The response does not conform to HTTP.
        case malformedResponse
        /// The body does not conform to its content coding.
        case contentCoding
        /// The peer violated HTTP/2, or an HTTP/2 stream or connection was reset.
        case http2
        /// The server has not agreed on HTTP/2, which the request demands.
        case http2NotAgreed
        /// The server accepts no extended CONNECT (RFC 8441, section 3), which the request needs.
        case extendedConnectNotOffered
        /// The peer violated HTTP/3, or the QUIC connection failed.
        case http3
        /// The server kept a call into libcurl or OpenSSL busy until its connection was shut down.
        case flooded
        /// The connection failed, or the server has refused the request, when a part of the body was already sent, which cannot be read
        /// again. The message tells the failure.
        case bodyNotReplayable
        /// The file with the body of the request could not be read completely.
        case bodyFile(path: String)
        /// Memory has run out.
        case outOfMemory
        /// A header line is larger than libcurl accepts.
        case tooLarge
        /// A reused connection died, and its request must not be sent a second time.
        case replayRefused
        /// The proxy with this name has failed, or the connection to it.
        case proxy(name: String, ProxyCause)
        /// The head of the response is rejected.
        case head(HeadFailure)
        /// libcurl reported an error that no request or server should cause.
        case internalError
    }

    /// The kinds of failure of a client certificate.
    package enum ClientCertificateCause: Hashable, Sendable {
        /// The peer requires a client certificate, and there is none.
        case required
        /// The peer does not accept the client certificate.
        case refused
        /// The client certificate has no key or signature of the kinds that the peer accepts.
        case unsuitable
        /// OpenSSL does not accept the client certificate.
        case unusable
    }

    /// The kinds of failure of a proxy.
    package enum ProxyCause: Hashable, Sendable {
        /// The name of the proxy could not be resolved.
        case nameResolution
        /// No connection to the proxy could be established.
        case unreachable
        /// The response to CONNECT refuses the tunnel with this status; `hasCredentials` is `true` if credentials for the proxy are
        /// configured.
        case refused(status: Int, hasCredentials: Bool)
        /// The SOCKS proxy does not accept the credentials, or asks for some.
        case unauthorized(hasCredentials: Bool)
        /// The SOCKS proxy reports that it makes no connection to the server.
        case unreachableServer(mayBeTransient: Bool)
        /// The response to CONNECT, or to a message of SOCKS, is missing or unreadable.
        case noTunnel
    }

    private struct Details: Sendable {
        let kind: Kind
        let message: String
        let code: Int
        let isUnprocessed: Bool
        var isFinal = false
    }

    // A single reference, because every transfer carries an optional failure, and almost all of them end without one.
    private let details: Boxed<Details>

    /// The kind of the failure.
    package var kind: Kind { details.value.kind }
    /// The description of the failure; libcurl's if libcurl failed.
    package var message: String { details.value.message }
    /// The CURLcode of the failure; 0 if it has none.
    package var code: Int { details.value.code }
    /// Whether the server has reported that it did not process the request (RFC 9113, sections 6.8 and 8.7). Such a request may
    /// be sent again, regardless of its method.
    package var isUnprocessed: Bool { details.value.isUnprocessed }

    /// Whether the engine has sent the request as often as it may be sent after such a failure.
    package var isFinal: Bool { details.value.isFinal }

    /// Creates a failure.
    package init(kind: Kind, message: String, code: Int = 0, isUnprocessed: Bool = false) {
        details = Boxed(Details(kind: kind, message: message, code: code, isUnprocessed: isUnprocessed))
    }

    /// The failure of a transfer for which there is no handle.
    static var outOfMemory: EngineFailure {
        EngineFailure(kind: .outOfMemory, message: "out of memory while creating a handle")
    }

    /// The same failure of a request that the server did not process.
    var unprocessed: EngineFailure {
        EngineFailure(kind: kind, message: message, code: code, isUnprocessed: true)
    }

    /// The same failure of a request that the engine sends no more.
    var asFinal: EngineFailure {
        var details = details.value
        details.isFinal = true
        return EngineFailure(details: Boxed(details))
    }

    private init(details: Boxed<Details>) { self.details = details }

    /// Whether the connection failed, and not the request: nothing could be sent, or the connection ended without a response.
    package var isConnectionFailure: Bool { kind == .emptyReply || code == Int(CURLE_SEND_ERROR.rawValue) }

    /// Whether the handshake with the peer has failed in a way that does not depend on the route.
    var isOfTLSPeer: Bool {
        switch kind {
        case .tlsVersion, .clientCertificate: true
        case .untrusted(let certificate): certificate != nil
        default: false
        }
    }

    /// Returns the system's words for an error.
    static func systemText(_ error: Int32) -> String { unsafe String(cString: strerror(error)) }

    /// The failure of an address of this machine from which no connection can be made.
    static func unusableSource(_ name: String, error: Int32) -> EngineFailure {
        EngineFailure(
            kind: .source, message: "\(name): \(systemText(error))", code: Int(CURLE_INTERFACE_FAILED.rawValue))
    }

    /// Returns the same failure with another kind.
    func `as`(_ kind: Kind) -> EngineFailure {
        EngineFailure(kind: kind, message: message, code: code)
    }

    /// Returns the same failure with the system's error, for a connection without a socket.
    func withoutSocket(_ error: Int32) -> EngineFailure {
        let reason = unsafe String(cString: strerror(error))
        return EngineFailure(kind: kind, message: "no socket could be created: \(reason)", code: code)
    }

    /// Returns the same failure with the name of the interface, or the address of this machine.
    func from(_ name: String) -> EngineFailure {
        EngineFailure(kind: kind, message: "\(name): \(message)", code: code)
    }

    /// Returns the same failure of a connection to a Unix domain socket, with the socket and the system's error.
    func to(_ socket: TransferRoute.Socket, _ error: Int32) -> EngineFailure {
        let reason = error == 0 ? message : Self.systemText(error)
        return EngineFailure(kind: kind, message: "\(socket.text): \(reason)", code: code)
    }

    /// Creates a failure from libcurl's result. Only this initialiser interprets libcurl's codes.
    init(_ code: CURLcode, detail: String) {
        let kind: Kind =
            switch code {
            // For a response, this code means that its HTTP version is unknown.
            case CURLE_UNSUPPORTED_PROTOCOL: detail.contains("libcurl") ? .unsupported : .malformedResponse
            case CURLE_NOT_BUILT_IN: .unsupported
            case CURLE_URL_MALFORMAT: .malformedURL
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .nameResolution
            case CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT: .connect
            case CURLE_INTERFACE_FAILED: .source
            case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_INITFAILED: .tlsHandshake
            case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR: .untrusted(nil)
            case CURLE_SSL_INVALIDCERTSTATUS: .untrusted(.init(badStaple: detail))
            case CURLE_SSL_CERTPROBLEM: .clientCertificate(.unusable, alert: 0, .server)
            case CURLE_SSL_CLIENTCERT: .clientCertificate(.required, alert: 0, .server)
            case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE: .certificateAuthorityFile
            case CURLE_SEND_ERROR: .send
            case CURLE_RECV_ERROR where detail.contains("nghttp3") || detail.contains("ngtcp2"): .http3
            // The system's error is ignored here, because it may belong to an address that refused before another address accepted.
            case CURLE_RECV_ERROR: .receive
            case CURLE_GOT_NOTHING: .emptyReply
            case CURLE_PARTIAL_FILE: .bodyCutShort
            case ccurl_code_too_large: .tooLarge
            case CURLE_WEIRD_SERVER_REPLY: .malformedResponse
            case CURLE_HTTP3, CURLE_QUIC_CONNECT_ERROR: .http3
            case CURLE_SEND_FAIL_REWIND: .bodyNotReplayable
            case CURLE_OUT_OF_MEMORY: .outOfMemory
            default: .internalError
            }
        // Some texts of libcurl 7.88 about TLS end in blanks.
        let words = detail.withoutTrailingBlanks
        var text = unsafe words.isEmpty ? String(cString: curl_easy_strerror(code)) : words
        if kind == .bodyNotReplayable { text = Self.lossText(words) }
        // OpenSSL's reason for a first record that is not of TLS.
        if kind == .tlsHandshake, detail.containsBytes("wrong version number") {
            text += "; the peer has not answered in TLS, but perhaps in plain text"
        }
        // The alert that refuses what ALPN has offered (RFC 7301, section 3.2): HTTP/1.1, unless the request may use HTTP/2.
        if kind == .tlsHandshake, detail.containsBytes("no application protocol") {
            text += "; the peer does not speak the versions of HTTP that the request offers"
        }
        self.init(kind: kind, message: text, code: Int(code.rawValue))
    }

    /// Returns the text for a connection that failed during the body: libcurl's, unless that is about the sending of the body again.
    static func lossText(_ detail: String) -> String {
        let isOfLoss = ["failure", "SSL", "reset"].contains { detail.containsBytes($0) }
        return isOfLoss ? detail : "the server closed the connection without a response"
    }
}
