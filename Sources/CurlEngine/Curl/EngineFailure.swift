import CCurl

/// Why a transfer failed, in libcurl's terms. The framework turns it into the error that users see.
package struct EngineFailure: Error, Sendable {
    package enum Kind: Hashable, Sendable {
        case unsupported
        /// A part of the URL that only a transfer looks at, such as the length of its host.
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
        /// The server kept one call into libcurl busy until its connection was cut.
        case flooded
        case bodyNotReplayable
        /// A file that is the request's body could not be read, or not to its end.
        case bodyFile(path: String)
        case outOfMemory
        /// Larger than libcurl takes: a header line.
        case tooLarge
        /// A kept connection died and the request must not be sent a second time.
        case replayRefused
        /// The proxy with this name, or the way to it.
        case proxy(name: String, Proxy)
        case head(HeadFailure)
        case internalError
    }

    /// How a proxy fails.
    package enum Proxy: Hashable, Sendable {
        case nameResolution
        case unreachable
        /// It answered CONNECT with this status.
        case refused(status: Int, hasCredentials: Bool)
        /// It gave no answer to CONNECT, or none that can be read.
        case noTunnel
    }

    package let kind: Kind
    /// In words, from libcurl.
    package let message: String
    /// The CURLcode, 0 where libcurl is not the one that failed.
    package let code: Int
    /// The `errno` of the failed system call, or 0.
    package let systemError: Int
    /// The server has said that it did not process the request (RFC 9113, sections 6.8 and 8.7): it may be sent again, whatever it is.
    package var isUnprocessed = false

    package init(kind: Kind, message: String, code: Int = 0, systemError: Int = 0) {
        self.kind = kind
        self.message = message
        self.code = code
        self.systemError = systemError
    }

    /// HTTP/2 failed as such, not on a stream: after a GOAWAY that came while nobody looked, for example. Or what was sent did
    /// not arrive: libcurl tries another connection only where it learns that while it reads. Or the connection ended without an
    /// answer, which before 8.1 libcurl takes for a body that was cut short.
    package var isOfConnection: Bool {
        kind == .emptyReply || [CURLE_HTTP2, CURLE_SEND_ERROR].contains { code == Int($0.rawValue) }
    }

    /// The same failure under another kind.
    func `as`(_ kind: Kind) -> EngineFailure {
        EngineFailure(kind: kind, message: message, code: code, systemError: systemError)
    }

    /// The one place where libcurl's codes get their meaning.
    init(_ code: CURLcode, detail: String, systemError: Int) {
        let kind: Kind =
            switch code {
            // Of a response this code says that its version is unheard of.
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
            // The system's error says nothing here: it may be that of an address that refused, before another one served.
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

    /// Whether the words are about chunks or fields that libcurl cannot read, and not about a connection that failed.
    private static func isFraming(_ detail: String) -> Bool {
        let detail = detail.lowercased()
        guard !detail.containsBytes("recv failure"), !detail.containsBytes("ssl"), !detail.containsBytes("errno") else {
            return false
        }
        return ["chunk", "hex", "encoding", "header"].contains { detail.containsBytes($0) }
    }
}
