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
        /// The peer has sent all its bytes.
        case ended
        /// The connection has failed.
        case failed(EngineFailure)
    }

    /// The way that the bytes take.
    private enum Way {
        /// Through libcurl, which has the connection.
        case libcurl(MultiHandle, EasyHandle)
        /// Directly, on the engine's own socket.
        case socket(Int32)
    }

    private let way: Way
    /// Whether fewer received bytes than asked for are all that there are for now.
    let isPlain: Bool

    /// Creates the channel of a connection in libcurl.
    init(_ multi: MultiHandle, _ easy: EasyHandle) {
        way = .libcurl(multi, easy)
        isPlain = false
    }

    /// Creates the channel of a connection without TLS and without libcurl.
    init(socket: Int32) {
        way = .socket(socket)
        isPlain = true
    }

    /// Sends bytes, of which as many are taken as possible. After ``Outcome/mustWait``, the same bytes must be sent again, at the same
    /// address.
    func send(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        switch way {
        case .socket(let socket):
            return move("Send", failure: CURLE_SEND_ERROR) {
                unsafe Glibc.send(socket, bytes.baseAddress, bytes.count, Self.flags)
            }
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
        case .socket(let socket):
            return move("Recv", failure: CURLE_RECV_ERROR) {
                unsafe recv(socket, buffer.baseAddress, buffer.count, Self.flags)
            }
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
        case .socket: EngineFailure(code, detail: "")
        }
    }

    static let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)

    /// Returns the result of a system call that moves bytes.
    private func move(_ name: String, failure code: CURLcode, _ call: () -> Int) -> Outcome {
        while true {
            let count = call()
            if count >= 0 { return count > 0 ? .moved(count) : .ended }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .mustWait
            default:
                // The words of libcurl.
                let reason = unsafe String(cString: strerror(errno))
                return .failed(EngineFailure(code, detail: "\(name) failure: \(reason)"))
            }
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
