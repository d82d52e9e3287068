import CCurl
import Glibc
import Testing

@testable import CurlEngine

/// The options of the sockets of connections.
struct SocketOptionTests {
    private func option(_ level: Int32, _ name: Int32, of descriptor: Int32) -> Int32 {
        var (value, size) = (Int32(-1), socklen_t(MemoryLayout<Int32>.size))
        return unsafe getsockopt(descriptor, level, name, &value, &size) == 0 ? value : -1
    }

    /// A connection without a limit on its time, such as that of a WebSocket, would otherwise outlast its peer.
    @Test(arguments: [AF_INET, AF_INET6])
    func theSystemLooksForPeersThatAreGone(family: Int32) throws {
        var address = curl_sockaddr()
        address.family = family
        address.socktype = Int32(SOCK_STREAM.rawValue)
        let descriptor = unsafe ccurl_socket_open(&address, 120_000)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        #expect(option(SOL_SOCKET, SO_KEEPALIVE, of: descriptor) == 1)
        let tcp = Int32(IPPROTO_TCP)
        #expect(option(tcp, TCP_KEEPIDLE, of: descriptor) == 60)
        #expect(option(tcp, TCP_KEEPINTVL, of: descriptor) == 15)
        #expect(option(tcp, TCP_KEEPCNT, of: descriptor) == 4)
        #expect(option(tcp, TCP_USER_TIMEOUT, of: descriptor) == 120_000)
    }
}
