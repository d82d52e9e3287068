import CCurl
private import Glibc

/// The bytes of a connection that switches protocols: the engine's own, or libcurl's with its TLS and its proxies. Used on the engine
/// thread.
@safe
struct ConnectionChannel {
    /// The result of an attempt to move bytes.
    enum Outcome {
        /// The number of bytes that were moved.
        case moved(Int)
        /// Nothing can be moved before the socket is ready.
        case mustWait
        /// Nothing can be moved before TLS has received more, of which there may be some already.
        case mustReceive
        /// The peer has sent all its bytes.
        case ended
        /// The connection has failed.
        case failed(EngineFailure)
    }

    /// The way that the bytes take.
    private enum Way {
        /// Through libcurl, which has the connection.
        case libcurl(MultiHandle, EasyHandle)
        /// Without libcurl, on a connection of the engine's own.
        case link(WireLink)
    }

    private let way: Way
    /// Whether fewer received bytes than asked for are all that there are for now.
    let isPlain: Bool

    /// Creates the channel of a connection in libcurl.
    init(_ multi: MultiHandle, _ easy: EasyHandle) {
        way = .libcurl(multi, easy)
        isPlain = false
    }

    /// Creates the channel of a connection of the engine's own.
    init(_ link: WireLink) {
        way = .link(link)
        isPlain = link.tls == nil
    }

    /// Sends bytes, of which as many are taken as possible. After ``Outcome/mustWait``, the same bytes must be sent again, at the same
    /// address.
    func send(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        switch way {
        case .link(let link): return outcome(unsafe link.send(bytes), of: link, "Send", CURLE_SEND_ERROR)
        case .libcurl(let multi, let easy):
            var count = 0
            let code = multi.inside { unsafe curl_easy_send(easy.curl, bytes.baseAddress, bytes.count, &count) }
            return switch code {
            case CURLE_OK where count > 0: .moved(count)
            case CURLE_OK, CURLE_AGAIN: .mustWait
            default: .failed(failure(code))
            }
        }
    }

    /// Receives bytes into a buffer.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        switch way {
        case .link(let link): return outcome(unsafe link.receive(buffer), of: link, "Recv", CURLE_RECV_ERROR)
        case .libcurl(let multi, let easy):
            var count = 0
            let code = multi.inside { unsafe curl_easy_recv(easy.curl, buffer.baseAddress, buffer.count, &count) }
            return switch code {
            case CURLE_OK: count > 0 ? .moved(count) : .ended
            case CURLE_AGAIN: .mustWait
            default: .failed(failure(code))
            }
        }
    }

    /// Returns the failure of the connection for a code of libcurl, with the reason that libcurl knows.
    func failure(_ code: CURLcode) -> EngineFailure {
        switch way {
        case .libcurl(_, let easy): easy.failure(code, isSent: true)
        case .link: EngineFailure(code, detail: "")
        }
    }

    static let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)

    /// Returns the outcome for the result of a link.
    private func outcome(_ result: Int, of link: WireLink, _ name: String, _ code: CURLcode) -> Outcome {
        switch Int32(clamping: result) {
        case 0: .ended
        case CCURL_TLS_WAIT: .mustWait
        case CCURL_TLS_MORE: .mustReceive
        // Only TLS tells the end of the bytes from a connection that somebody has cut.
        case CCURL_TLS_CUT_OFF, CCURL_TLS_FAILED: .failed(link.failure(name, code))
        default: .moved(result)
        }
    }
}

extension EasyHandle {
    /// Makes libcurl only connect, and leave the connection to the engine. Requests for a server behind an HTTP proxy go through a tunnel,
    /// because the proxy would not pass on what follows the request. Returns `false` if libcurl refuses an option.
    func setConnectOnly() -> Bool {
        unsafe ccurl_set_long(curl, CURLOPT_HTTPPROXYTUNNEL, 1) == CURLE_OK
            && ccurl_set_long(curl, CURLOPT_CONNECT_ONLY, 1) == CURLE_OK
    }

    /// The socket of a connection that libcurl has left to the engine; -1 if there is none.
    var connectOnlySocket: Int32 { unsafe ccurl_get_socket(curl, CURLINFO_ACTIVESOCKET) }
}
