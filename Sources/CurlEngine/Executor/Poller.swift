import CCurl
private import Glibc

/// The directions in which a socket is watched.
struct SocketInterest: OptionSet, Hashable, Sendable {
    var rawValue: UInt32
    static let read = SocketInterest(rawValue: 1)
    static let write = SocketInterest(rawValue: 2)
}

/// A socket that is ready for reading or writing, or has failed.
struct ReadySocket {
    var descriptor: Int32
    var generation: UInt32
    var interest: SocketInterest
    var hasFailed: Bool
}

/// An epoll instance, level-triggered as libcurl needs it, with a descriptor that wakes its wait.
@safe
final class Poller {
    private let epoll: Int32
    private let wakeUp: Int32
    private let buffer: UnsafeMutablePointer<ccurl_ready>

    /// Creates a poller; `nil` if the process has no descriptors left.
    init?() {
        epoll = ccurl_epoll_create()
        wakeUp = ccurl_eventfd_create()
        unsafe buffer = .allocate(capacity: Int(CCURL_READY_CAPACITY))
        guard epoll >= 0, wakeUp >= 0, ccurl_epoll_watch(epoll, wakeUp, 0, CCURL_READ | CCURL_ONCE) else { return nil }
    }

    deinit {
        if epoll >= 0 { close(epoll) }
        if wakeUp >= 0 { close(wakeUp) }
        unsafe buffer.deallocate()
    }

    /// The descriptor that other threads signal through ``signal(_:)``.
    var wakeUpDescriptor: Int32 { wakeUp }

    /// Ends the current or the next wait.
    static func signal(_ descriptor: Int32) { ccurl_eventfd_signal(descriptor) }

    /// Watches a socket, changes its directions, or stops watching it (with an empty interest). Returns whether the kernel accepted the
    /// change.
    func watch(_ descriptor: Int32, generation: UInt32, for interest: SocketInterest) -> Bool {
        ccurl_epoll_watch(epoll, descriptor, generation, interest.rawValue)
    }

    /// Waits until a socket is ready, the loop is woken, or the time is over (in nanoseconds; `nil` if there is no limit), and calls `body`
    /// for each ready socket. If very many sockets are ready, only the first ones are reported.
    func wait(nanoseconds: UInt64?, _ body: (ReadySocket) -> Void) {
        let timeout = nanoseconds.map { Int64(clamping: $0) } ?? -1
        let count = unsafe ccurl_epoll_wait(epoll, buffer, timeout)
        for index in 0..<Int(count) {
            let event = unsafe buffer[index]
            // The kernel reports each signal once, so that its counter need not be read.
            if event.fd == wakeUp { continue }
            body(
                ReadySocket(
                    descriptor: event.fd, generation: event.generation,
                    interest: SocketInterest(rawValue: event.events & 3),
                    hasFailed: event.events & CCURL_FAILED != 0))
        }
    }
}
