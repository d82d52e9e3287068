private import CCurl
private import Glibc

/// A port of this machine that receives a few small requests, such as the one that a browser brings after a sign-in.
///
/// It listens on 127.0.0.1 alone, at a port that the kernel chooses, and waits on a thread that may block. At most 16 connections are open
/// at once: a further one ends the oldest, so that connections on which nothing arrives hold up no other.
package final class LoopbackListener: Sendable {
    /// The largest head of a request, in bytes. A longer one is dropped.
    private static let maximumHead = 8 << 10
    private static let maximumPeers = 16

    /// A connection, with the bytes that it has brought.
    private struct Peer {
        let descriptor: Int32
        var bytes: [UInt8] = []
    }

    /// The port.
    package let port: UInt16
    private let descriptor: Int32
    private let wakeUp: Int32

    /// Opens a port.
    package init() throws(FileError) {
        let listening = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        let event = ccurl_eventfd_create()
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &name) { name in
            unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                unsafe bind(listening, name, size) == 0 && listen(listening, 16) == 0
                    && getsockname(listening, name, &size) == 0
            }
        }
        guard listening >= 0, event >= 0, isBound else {
            let failure = FileError.system
            Self.closeIfOpen(listening, event)
            throw failure
        }
        (descriptor, wakeUp, port) = (listening, event, UInt16(bigEndian: name.sin_port))
    }

    deinit { Self.closeIfOpen(descriptor, wakeUp) }

    private static func closeIfOpen(_ descriptors: Int32...) {
        for descriptor in descriptors where descriptor >= 0 { close(descriptor) }
    }

    /// Answers requests until one has the value that is waited for.
    ///
    /// - Parameter respond: Returns the complete answer to the head of a request, and the value if this request has it. The connection ends
    ///   after the answer.
    /// - Throws: `CancellationError` in a cancelled task, at once.
    package func value<Value: Sendable>(
        _ respond: @escaping @Sendable (_ head: [UInt8]) -> (answer: [UInt8], value: Value?)
    ) async throws -> Value {
        let value = await withTaskCancellationHandler {
            await BlockingThreadPool.run { [self] in serve(respond) }
        } onCancel: {
            ccurl_eventfd_signal(wakeUp)
        }
        guard let value else { throw CancellationError() }
        return value
    }

    private func serve<Value>(_ respond: ([UInt8]) -> (answer: [UInt8], value: Value?)) -> Value? {
        var peers: [Peer] = []
        defer { for peer in peers { close(peer.descriptor) } }
        while true {
            var waits = [wakeUp, descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            waits += peers.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            let count = unsafe poll(&waits, nfds_t(waits.count), -1)
            if count < 0, errno == EINTR { continue }
            guard count > 0, waits[0].revents == 0 else { return nil }
            for index in peers.indices.reversed() where waits[index + 2].revents != 0 {
                switch Self.receive(&peers[index]) {
                case .waits: continue
                case .gone: break
                case .head:
                    let (answer, value) = respond(peers[index].bytes)
                    Self.send(answer, to: peers[index].descriptor)
                    if let value { return value }
                }
                close(peers.remove(at: index).descriptor)
            }
            if waits[1].revents != 0 { accept(into: &peers) }
        }
    }

    private func accept(into peers: inout [Peer]) {
        let peer = Glibc.accept(descriptor, nil, nil)
        guard peer >= 0 else {
            // Without a free descriptor, the port stays ready: a pause, which the end of the task cuts short.
            var wait = pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0)
            if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { _ = unsafe poll(&wait, 1, 100) }
            return
        }
        _ = fcntl(peer, F_SETFD, FD_CLOEXEC)
        _ = fcntl(peer, F_SETFL, O_NONBLOCK)
        if peers.count == Self.maximumPeers { close(peers.removeFirst().descriptor) }
        peers.append(Peer(descriptor: peer))
    }

    private enum Progress { case waits, gone, head }

    /// Reads what has arrived.
    private static func receive(_ peer: inout Peer) -> Progress {
        var room = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe recv(peer.descriptor, &room, room.count, 0)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN || errno == EWOULDBLOCK { return .waits }
            guard count > 0 else { return .gone }
            peer.bytes += room[..<count]
            guard peer.bytes.count <= maximumHead else { return .gone }
            if peer.bytes.firstRange(of: [0x0D, 0x0A, 0x0D, 0x0A]) != nil { return .head }
        }
    }

    /// Sends an answer, which is small enough for the kernel's buffer, and reads what is left: otherwise the end of the connection could
    /// destroy the answer.
    private static func send(_ answer: [UInt8], to descriptor: Int32) {
        _ = unsafe Glibc.send(descriptor, answer, answer.count, Int32(MSG_NOSIGNAL))
        shutdown(descriptor, Int32(SHUT_WR))
        var room = [UInt8](repeating: 0, count: 4096)
        for _ in 0..<16 where unsafe recv(descriptor, &room, room.count, 0) <= 0 { return }
    }
}
