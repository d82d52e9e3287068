import CCurl

/// The reason for a failed transfer, in libcurl's terms. The framework turns this failure into the error that users see.
package struct EngineFailure: Error, Sendable {
    /// The kinds of failure.
    package enum Kind: Hashable, Sendable {
        case unsupported
        /// A part of the URL that is malformed and that only a transfer checks, such as the length of the host.
        case malformedURL
        case nameResolution
        case connect
        case tlsHandshake
        case untrusted
        case certificateAuthorityFile
        case send
        case receive
        case emptyReply
        case bodyCutShort
        case malformedResponse
        case contentCoding
        case http2
        case http3
        /// A call into libcurl that the server kept busy until its connection was shut down.
        case flooded
        case bodyNotReplayable
        /// A file with the body of the request that could not be read, or not to its end.
        case bodyFile(path: String)
        case outOfMemory
        /// A header line that is larger than libcurl accepts.
        case tooLarge
        /// A reused connection that died while its request must not be sent a second time.
        case replayRefused
        /// A failure of the proxy with this name, or of the connection to that proxy.
        case proxy(name: String, Proxy)
        case head(HeadFailure)
        case internalError
    }

    /// The ways in which a proxy fails.
    package enum Proxy: Hashable, Sendable {
        case nameResolution
        case unreachable
        /// A response to CONNECT that refuses the tunnel with this status; `hasCredentials` if the proxy has credentials
        /// configured.
        case refused(status: Int, hasCredentials: Bool)
        /// A missing or unreadable response to CONNECT.
        case noTunnel
    }

    package let kind: Kind
    /// The description of the failure, from libcurl where libcurl failed.
    package let message: String
    /// The CURLcode; 0 where libcurl did not fail.
    package let code: Int
    /// The `errno` of the failed system call, or 0.
    package let systemError: Int
    /// Indicates whether the server has said that it did not process the request (RFC 9113, sections 6.8 and 8.7). Such a request
    /// may be sent again, whichever method it has.
    package var isUnprocessed = false

    package init(kind: Kind, message: String, code: Int = 0, systemError: Int = 0) {
        self.kind = kind
        self.message = message
        self.code = code
        self.systemError = systemError
    }

    /// Indicates whether the connection failed and not the request. The value is true for HTTP/2 failures outside a stream, for
    /// example after a GOAWAY that arrived while the connection was idle; for a failure to send, because libcurl tries another
    /// connection only where it learns of the failure while reading; and for a connection that ended without a response, which
    /// libcurl before 8.1 takes for a body that was cut short.
    package var isConnectionFailure: Bool {
        kind == .emptyReply || [CURLE_HTTP2, CURLE_SEND_ERROR].contains { code == Int($0.rawValue) }
    }

    /// Returns the same failure with another kind.
    func `as`(_ kind: Kind) -> EngineFailure {
        EngineFailure(kind: kind, message: message, code: code, systemError: systemError)
    }

    /// Creates a failure from libcurl's result. This initializer is the one place that gives libcurl's codes their meaning.
    init(_ code: CURLcode, detail: String, systemError: Int) {
        let kind: Kind =
            switch code {
            // For a response, this code means that its HTTP version is unknown.
            case CURLE_UNSUPPORTED_PROTOCOL: detail.contains("libcurl") ? .unsupported : .malformedResponse
            case CURLE_NOT_BUILT_IN, CURLE_HTTP_RETURNED_ERROR: .unsupported
            case CURLE_URL_MALFORMAT: .malformedURL
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .nameResolution
            case CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT: .connect
            case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_INITFAILED: .tlsHandshake
            case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS: .untrusted
            case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE: .certificateAuthorityFile
            case CURLE_SEND_ERROR: .send
            case CURLE_RECV_ERROR where detail.contains("nghttp2"): .http2
            case CURLE_RECV_ERROR where detail.contains("nghttp3") || detail.contains("ngtcp2"): .http3
            // The system's error is ignored here: it may belong to an address that refused before another address accepted.
            case CURLE_RECV_ERROR: Self.isFraming(detail) ? .malformedResponse : .receive
            case CURLE_GOT_NOTHING: .emptyReply
            case CURLE_PARTIAL_FILE: .bodyCutShort
            case ccurl_code_too_large: .tooLarge
            case CURLE_WEIRD_SERVER_REPLY: .malformedResponse
            case CURLE_BAD_CONTENT_ENCODING: .contentCoding
            case CURLE_HTTP2, CURLE_HTTP2_STREAM: .http2
            case CURLE_HTTP3, CURLE_QUIC_CONNECT_ERROR: .http3
            case CURLE_SEND_FAIL_REWIND: .bodyNotReplayable
            case CURLE_OUT_OF_MEMORY: .outOfMemory
            default: .internalError
            }
        let text = unsafe detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
        self.init(kind: kind, message: text, code: Int(code.rawValue), systemError: systemError)
    }

    /// Returns whether the text describes chunks or fields that libcurl cannot read, and not a connection that failed.
    private static func isFraming(_ detail: String) -> Bool {
        let detail = detail.lowercased()
        guard !detail.containsBytes("recv failure"), !detail.containsBytes("ssl"), !detail.containsBytes("errno") else {
            return false
        }
        return ["chunk", "hex", "encoding", "header"].contains { detail.containsBytes($0) }
    }
}
