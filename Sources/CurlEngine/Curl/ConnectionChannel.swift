import CCurl
private import Glibc

/// The bytes of a connection that libcurl has made and left to the engine, with its TLS and its proxies. Used on the engine thread.
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
        case failed(CURLcode)
    }

    private let multi: MultiHandle
    let easy: EasyHandle
    /// The socket of a connection without TLS on which bytes pass libcurl by; -1 if there is none.
    private let plainSocket: Int32
    /// Indicates whether the connection has TLS, to its server or to a proxy.
    private let isEncrypted: Bool

    /// - Parameters:
    ///   - plainSocket: The socket of a connection without TLS, if its bytes may pass libcurl by.
    ///   - isEncrypted: Indicates whether the connection has TLS, to its server or to a proxy.
    init(_ multi: MultiHandle, _ easy: EasyHandle, plainSocket: Int32 = -1, isEncrypted: Bool = true) {
        (self.multi, self.easy, self.plainSocket, self.isEncrypted) = (multi, easy, plainSocket, isEncrypted)
    }

    /// Indicates whether bytes pass libcurl by from the first one on, if the connection has no TLS. Each call of libcurl looks for its
    /// connection among all others, which takes a tenth of a millisecond if there are thousands. From 8.0 on, libcurl may have received
    /// bytes already, which are asked for first (``SwitchHandshake/isDrained``).
    static var avoidsLibcurl: Bool { !LibcurlFeatures.current.isAtLeast(8, 0) }

    /// Indicates whether fewer received bytes than asked for are all that there are for now. Without TLS, libcurl gives the bytes that it
    /// has kept before those of the socket, and the socket becomes ready for the others.
    var isPlain: Bool { !isEncrypted }

    /// Sends bytes, of which libcurl takes as many as it can. After ``Outcome/mustWait``, the same bytes must be sent again, at the same
    /// address.
    func send(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        if plainSocket >= 0 {
            return move("Send", CURLE_SEND_ERROR) {
                unsafe Glibc.send(plainSocket, bytes.baseAddress, bytes.count, Self.flags)
            }
        }
        var count = 0
        let code = multi.inside { unsafe curl_easy_send(easy.curl, bytes.baseAddress, bytes.count, &count) }
        return switch code {
        case CURLE_OK where count > 0: .moved(count)
        case CURLE_OK, CURLE_AGAIN: .mustWait
        default: .failed(code)
        }
    }

    /// Receives bytes into a buffer.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        if plainSocket >= 0 {
            return move("Recv", CURLE_RECV_ERROR) {
                unsafe recv(plainSocket, buffer.baseAddress, buffer.count, Self.flags)
            }
        }
        var count = 0
        let code = multi.inside { unsafe curl_easy_recv(easy.curl, buffer.baseAddress, buffer.count, &count) }
        return switch code {
        case CURLE_OK: count > 0 ? .moved(count) : .ended
        case CURLE_AGAIN: .mustWait
        default: .failed(code)
        }
    }

    static let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)

    /// Returns the result of a system call that moves bytes.
    private func move(_ name: String, _ code: CURLcode, _ call: () -> Int) -> Outcome {
        while true {
            let count = call()
            if count >= 0 { return count > 0 ? .moved(count) : .ended }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .mustWait
            default:
                easy.setErrorText("\(name) failure: \(unsafe String(cString: strerror(errno)))")
                return .failed(code)
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

    /// Sets the text of the next failure, as libcurl does.
    func setErrorText(_ text: String) {
        let bytes = text.utf8.prefix(Int(CURL_ERROR_SIZE) - 1)
        for (index, byte) in bytes.enumerated() { unsafe errorBuffer[index] = CChar(truncatingIfNeeded: byte) }
        unsafe errorBuffer[bytes.count] = 0
    }
}
