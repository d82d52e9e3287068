import CServerTLS
import CurlEngine
import Glibc

/// A socket of the loopback server, with blocking calls: all calls of the kernel about sockets, and their unsafe code, are here.
///
/// A single thread reads and writes; any thread may call ``interrupt()``, which makes every blocked call return as if the peer
/// had gone. The lock keeps an interrupt from reaching a descriptor number that was closed and reused.
final class LoopbackSocket: Sendable {
    /// The descriptor, used by the owning thread only (apart from ``interrupt()``), which is also the only one that closes it.
    let descriptor: CInt
    private let isOpen = Locked(true)
    private let isInterrupted = Locked(false)

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    deinit { close() }

    /// The event that ended a wait on the socket.
    enum Wake { case gate, peerGone, timedOut }

    /// Returns the descriptors of two connected sockets, which no child of the process inherits; `nil` if there are none left.
    ///
    /// - Parameter flags: Further flags of the sockets' type.
    static func pair(_ flags: CInt = 0) -> (CInt, CInt)? {
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue) | flags
        return unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 ? (ends[0], ends[1]) : nil
    }

    // MARK: Listening

    /// Binds and listens. The kernel chooses the port; a file at a Unix path is removed first.
    static func listen(on address: LoopbackServer.Address) throws -> (socket: LoopbackSocket, port: Int) {
        let family =
            switch address {
            case .ipv4: AF_INET
            case .ipv6: AF_INET6
            case .unix, .abstract: AF_UNIX
            }
        let descriptor = Glibc.socket(family, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw LoopbackServer.SystemError("socket") }
        let socket = LoopbackSocket(descriptor)
        try socket.bind(to: address)
        guard Glibc.listen(descriptor, 4096) == 0 else { throw LoopbackServer.SystemError("listen") }
        return (socket, try socket.boundPort(of: address))
    }

    private func bind(to address: LoopbackServer.Address) throws {
        let status: CInt
        switch address {
        case .ipv4:
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
            status = unsafe Self.withGenericAddress(&name) { unsafe Glibc.bind(descriptor, $0, $1) }
        case .ipv6:
            var name = sockaddr_in6()
            name.sin6_family = sa_family_t(AF_INET6)
            name.sin6_addr = in6addr_loopback
            status = unsafe Self.withGenericAddress(&name) { unsafe Glibc.bind(descriptor, $0, $1) }
        case .unix(let path):
            var name = try Self.unixAddress(Array(path.utf8))
            _ = unsafe unlink(path)
            status = unsafe Self.withGenericAddress(&name) { unsafe Glibc.bind(descriptor, $0, $1) }
        case .abstract(let text):
            var name = try Self.unixAddress([0] + text.utf8)
            // The name has as many bytes as the address says.
            let length = socklen_t(MemoryLayout<sa_family_t>.size + 1 + text.utf8.count)
            status = unsafe Self.withGenericAddress(&name) { name, _ in unsafe Glibc.bind(descriptor, name, length) }
        }
        guard status == 0 else { throw LoopbackServer.SystemError("bind") }
    }

    private static func unixAddress(_ bytes: [UInt8]) throws -> sockaddr_un {
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let fits = unsafe withUnsafeMutableBytes(of: &name.sun_path) { room in
            guard bytes.count < room.count else { return false }
            unsafe room.copyBytes(from: bytes)
            return true
        }
        guard fits else { throw LoopbackServer.SystemError("bind", code: ENAMETOOLONG) }
        return name
    }

    /// The address of the peer, without its port; empty if there is none.
    var peerAddress: String {
        var name = sockaddr_storage()
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let status = unsafe Self.withGenericAddress(&name) { pointer, length in
            var length = length
            guard unsafe getpeername(descriptor, pointer, &length) == 0,
                unsafe [AF_INET, AF_INET6].contains(CInt(pointer.pointee.sa_family))
            else { return CInt(-1) }
            return unsafe getnameinfo(pointer, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        }
        return status == 0 ? String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : ""
    }

    private func boundPort(of address: LoopbackServer.Address) throws -> Int {
        var name = sockaddr_storage()
        let status = unsafe Self.withGenericAddress(&name) { pointer, length in
            var length = length
            return unsafe getsockname(descriptor, pointer, &length)
        }
        guard status == 0 else { throw LoopbackServer.SystemError("getsockname") }
        return unsafe withUnsafeBytes(of: &name) { bytes in
            switch address {
            case .unix, .abstract: 0
            // The port follows the family in both families, in network order.
            case .ipv4, .ipv6: Int(unsafe bytes[2]) << 8 | Int(unsafe bytes[3])
            }
        }
    }

    @unsafe static func withGenericAddress<Name, Result>(
        _ name: inout Name, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        unsafe withUnsafeMutableBytes(of: &name) { bytes in
            unsafe bytes.withMemoryRebound(to: sockaddr.self) { name in
                // A socket address is never empty.
                unsafe body(name.baseAddress.unsafelyUnwrapped, socklen_t(bytes.count))
            }
        }
    }

    /// Returns the next connection; `nil` if the listener was interrupted.
    func accept() throws -> LoopbackSocket? {
        while true {
            let accepted = ccurl_server_accept(descriptor)
            if accepted >= 0 { return LoopbackSocket(accepted) }
            switch errno {
            case EINTR, ECONNABORTED: continue
            case EINVAL: return nil
            // The connection stays in the system's queue until there is a descriptor for it.
            case EMFILE, ENFILE: _ = poll(nil, 0, 10)
            default: throw LoopbackServer.SystemError("accept")
            }
        }
    }

    // MARK: Bytes

    /// Blocks for the next bytes and returns them; an empty array is the end of the peer's stream.
    func receive(upTo count: Int) throws -> [UInt8] {
        var failure: CInt = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var received: Int
            repeat {
                received = unsafe recv(descriptor, buffer.baseAddress, count, 0)
            } while received < 0 && errno == EINTR
            if received < 0 { failure = errno }
            filled = max(0, received)
        }
        guard failure == 0 else { throw LoopbackServer.SystemError("recv", code: failure) }
        return bytes
    }

    /// Blocks until the kernel took some of the bytes; returns how many the kernel took.
    func send(_ bytes: ArraySlice<UInt8>) throws -> Int {
        let sent = unsafe bytes.withUnsafeBytes { buffer in
            var sent: Int
            repeat {
                sent = unsafe Glibc.send(descriptor, buffer.baseAddress, buffer.count, CInt(MSG_NOSIGNAL))
            } while sent < 0 && errno == EINTR
            return sent
        }
        guard sent >= 0 else { throw LoopbackServer.SystemError("send") }
        return sent
    }

    /// Blocks until the peer's kernel has everything that was sent, the connection is over, or the peer's kernel has taken nothing for a
    /// second, because its program does not read and there is no room for the rest.
    func waitUntilReceived() {
        let pendingBytes: UInt = 0x5411  // SIOCOUTQ
        var (count, last) = (CInt(0), CInt.max)
        var lastChange = ContinuousClock.now
        while !isInterrupted.withLock({ $0 }), unsafe ioctl(descriptor, pendingBytes, &count) == 0, count > 0 {
            if count != last { (last, lastChange) = (count, .now) }
            guard ContinuousClock.now - lastChange < .seconds(1) else { return }
            _ = poll(nil, 0, 1)
        }
    }

    /// Sends each write as its own segment from now on: a script decides which bytes arrive together.
    func sendWithoutDelay() {
        var on: CInt = 1
        // Fails on a Unix socket, which has no delay to begin with.
        _ = unsafe setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
    }

    /// Limits the number of bytes that the kernel takes before a write blocks.
    func limitSendBuffer(to bytes: Int) {
        var size = CInt(clamping: bytes)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
    }

    /// Blocks until the gate opens, the peer closes its side or resets, or the time is over.
    func wait(for gate: LoopbackEvent?, timeout: Duration?) -> Wake {
        let hangUp: Int16 = 0x2000  // POLLRDHUP, which Glibc's module map leaves out
        let milliseconds = timeout.map { CInt(clamping: Int64(max(0, $0 / .milliseconds(1)))) }
        var polled = [
            pollfd(fd: descriptor, events: hangUp, revents: 0),
            pollfd(fd: gate?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        var count: CInt
        repeat {
            count = unsafe poll(&polled, nfds_t(polled.count), milliseconds ?? -1)
        } while count < 0 && errno == EINTR
        if polled[1].revents != 0 { return .gate }
        return polled[0].revents != 0 ? .peerGone : .timedOut
    }

    // MARK: Ending

    /// Ends this side of the connection (FIN); the other side may continue.
    func shutdownWrite() { _ = shutdown(descriptor, CInt(SHUT_WR)) }

    /// Makes every blocked and every later call return at once. May be called from any thread.
    func interrupt() {
        isInterrupted.withLock { $0 = true }
        isOpen.withLock { isOpen in
            if isOpen { _ = shutdown(descriptor, CInt(SHUT_RDWR)) }
        }
    }

    /// Closes with a reset (RST) instead of an orderly end.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    func close() {
        isOpen.withLock { isOpen in
            if isOpen { _ = Glibc.close(descriptor) }
            isOpen = false
        }
    }
}

extension LoopbackServer.SystemError {
    /// Creates the error of a call that just failed.
    init(_ call: String) { self.init(call, code: errno) }

    init(_ call: String, code: CInt) { self.init(call: call, code: code) }

    /// Whether the error only means that the peer is gone.
    var meansDisconnection: Bool { [ECONNRESET, EPIPE, ENOTCONN, EBADF].contains(code) }
}
