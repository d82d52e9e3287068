import CServerTLS
import CurlEngine
import Glibc

/// A signal from any thread to one that polls.
final class LoopbackWake: Sendable {
    /// The end of a connection that is readable after a signal.
    let descriptor: CInt
    private let writingEnd: CInt

    init() throws {
        guard let ends = LoopbackSocket.pair(CInt(SOCK_NONBLOCK.rawValue)) else {
            throw LoopbackServer.SystemError("socketpair")
        }
        (descriptor, writingEnd) = ends
    }

    deinit {
        _ = Glibc.close(descriptor)
        _ = Glibc.close(writingEnd)
    }

    /// Wakes the thread. If the connection is full, the thread is about to wake.
    func signal() {
        var byte: UInt8 = 0
        _ = unsafe Glibc.write(writingEnd, &byte, 1)
    }

    /// Forgets the signals so far.
    func clear() {
        var scrap = [UInt8](repeating: 0, count: 256)
        while unsafe Glibc.read(descriptor, &scrap, scrap.count) > 0 {}
    }
}

/// The address of a server, as the system's calls need it.
struct SocketName: Sendable {
    fileprivate let family: CInt
    fileprivate let bytes: [UInt8]

    /// Looks up a name, or reads a literal address. IPv4 addresses are preferred.
    init(host: String, port: Int) throws {
        guard
            let name = try Self.find(host, port: port, family: AF_INET)
                ?? Self.find(host, port: port, family: AF_UNSPEC)
        else {
            throw LoopbackServer.SystemError("getaddrinfo", code: ENOENT)
        }
        self = name
    }

    private init(family: CInt, bytes: [UInt8]) { (self.family, self.bytes) = (family, bytes) }

    private static func find(_ host: String, port: Int, family: CInt) throws -> SocketName? {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = family
        unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, "\(port)", &hints, &list) == 0, let first = unsafe list else { return nil }
        defer { unsafe freeaddrinfo(first) }
        guard let address = unsafe first.pointee.ai_addr else { return nil }
        let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: address, count: Int(first.pointee.ai_addrlen)))
        return SocketName(family: unsafe first.pointee.ai_family, bytes: bytes)
    }
}

/// A socket that a thread waits for together with others, and the events that it waits for.
struct SocketInterest {
    /// The descriptor; -1 for none.
    var descriptor: CInt
    var reads = false
    var writes = false
    /// The events that have happened.
    var isReadable = false
    var isWritable = false

    /// Blocks until an event happens, or the time is over.
    ///
    /// - Parameter nanoseconds: The time; `nil` for no limit.
    static func wait(for interests: inout [SocketInterest], nanoseconds: UInt64?) {
        var polled = interests.map { interest in
            let events = (interest.reads ? POLLIN : 0) | (interest.writes ? POLLOUT : 0)
            // A descriptor without events would still report the end of its connection, again and again.
            return pollfd(fd: events == 0 ? -1 : interest.descriptor, events: Int16(events), revents: 0)
        }
        // Rounded up, because a time that is too short would be waited for again and again.
        let milliseconds = nanoseconds.map { CInt(clamping: $0 / 1_000_000 + ($0 % 1_000_000 == 0 ? 0 : 1)) }
        let count = unsafe poll(&polled, nfds_t(polled.count), milliseconds ?? -1)
        for index in interests.indices {
            let events = count > 0 ? CInt(polled[index].revents) : 0
            interests[index].isReadable = events & (POLLIN | POLLHUP | POLLERR) != 0
            interests[index].isWritable = events & (POLLOUT | POLLHUP | POLLERR) != 0
        }
    }
}

/// The calls that do not block.
extension LoopbackSocket {
    func setNonBlocking() { _ = fcntl(descriptor, F_SETFL, O_NONBLOCK) }

    /// Returns the next connection; `nil` if there is none now.
    func acceptNow() -> LoopbackSocket? {
        let accepted = ccurl_server_accept(descriptor)
        guard accepted >= 0 else { return nil }
        let socket = LoopbackSocket(accepted)
        socket.setNonBlocking()
        socket.sendWithoutDelay()
        return socket
    }

    /// Begins to connect. The socket is writable when the connection is there or has failed.
    static func connecting(to name: SocketName) throws -> LoopbackSocket {
        let descriptor = Glibc.socket(name.family, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw LoopbackServer.SystemError("socket") }
        let socket = LoopbackSocket(descriptor)
        socket.setNonBlocking()
        socket.sendWithoutDelay()
        let status = unsafe name.bytes.withUnsafeBytes { bytes in
            unsafe bytes.withMemoryRebound(to: sockaddr.self) { name in
                unsafe Glibc.connect(descriptor, name.baseAddress, socklen_t(bytes.count))
            }
        }
        guard status == 0 || errno == EINPROGRESS else { throw LoopbackServer.SystemError("connect") }
        return socket
    }

    /// The error of the connection; 0 if there is none.
    var pendingError: CInt {
        var code: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        _ = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
        return code
    }

    /// Returns the bytes that are there; `nil` if there are none now, and an empty array at the end of the peer's stream.
    func receiveNow(upTo count: Int) throws -> [UInt8]? {
        do {
            return try receive(upTo: count)
        } catch let error as LoopbackServer.SystemError where error.code == EAGAIN {
            return nil
        }
    }

    /// Sends the bytes that the kernel takes now; returns their number.
    func sendNow(_ bytes: ArraySlice<UInt8>) throws -> Int {
        do {
            return try send(bytes)
        } catch let error as LoopbackServer.SystemError where error.code == EAGAIN {
            return 0
        }
    }
}
