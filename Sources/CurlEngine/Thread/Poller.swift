import CCurl
private import Glibc

/// What a socket is watched for.
struct SocketInterest: OptionSet, Hashable, Sendable {
    var rawValue: UInt32
    static let read = SocketInterest(rawValue: 1)
    static let write = SocketInterest(rawValue: 2)
}

/// A socket on which something can be done.
struct ReadySocket {
    var descriptor: Int32
    var generation: UInt32
    var interest: SocketInterest
    var hasFailed: Bool
}

/// epoll, level-triggered as libcurl needs it, with a descriptor that wakes it.
@safe
final class Poller {
    private let epoll: Int32
    private let wakeUp: Int32
    private let buffer: UnsafeMutablePointer<ccurl_ready>

    /// `nil` where the process has no descriptors left.
    init?() {
        epoll = ccurl_epoll_create()
        wakeUp = ccurl_eventfd_create()
        unsafe buffer = .allocate(capacity: Int(CCURL_READY_CAPACITY))
        guard epoll >= 0, wakeUp >= 0, ccurl_epoll_watch(epoll, wakeUp, 0, CCURL_READ) else { return nil }
    }

    deinit {
        if epoll >= 0 { close(epoll) }
        if wakeUp >= 0 { close(wakeUp) }
        unsafe buffer.deallocate()
    }

    /// A descriptor that other threads signal through ``signal(_:)``.
    var wakeUpDescriptor: Int32 { wakeUp }

    /// Ends the present or the next wait.
    static func signal(_ descriptor: Int32) { ccurl_eventfd_signal(descriptor) }

    /// Watches a socket, changes what it is watched for, or (an empty interest) forgets it. Returns whether the kernel
    /// now does what was asked.
    func watch(_ descriptor: Int32, generation: UInt32, for interest: SocketInterest) -> Bool {
        ccurl_epoll_watch(epoll, descriptor, generation, interest.rawValue)
    }

    /// Waits until a socket is ready, the wake-up came, or the time (nanoseconds; `nil`: no limit) is over, and calls
    /// `body` for each ready socket, or for the first of very many. Returns whether there may be more of them.
    @discardableResult
    func wait(nanoseconds: UInt64?, _ body: (ReadySocket) -> Void) -> Bool {
        let timeout = nanoseconds.map { Int64(clamping: $0) } ?? -1
        let count = unsafe ccurl_epoll_wait(epoll, buffer, timeout)
        for index in 0..<Int(count) {
            let event = unsafe buffer[index]
            if event.fd == wakeUp {
                ccurl_eventfd_clear(wakeUp)
            } else {
                body(
                    ReadySocket(
                        descriptor: event.fd, generation: event.generation,
                        interest: SocketInterest(rawValue: event.events & 3),
                        hasFailed: event.events & CCURL_FAILED != 0))
            }
        }
        return count == CCURL_READY_CAPACITY
    }

    /// Calls `body` for each socket that is ready now, of so many that are watched. Some may come twice.
    func lookAtAll(of count: Int, _ body: (ReadySocket) -> Void) {
        // The kernel puts what it has told of at the end of its list, so that each call tells of others.
        var calls = count / Int(CCURL_READY_CAPACITY) + 1
        while calls > 0, wait(nanoseconds: 0, body) { calls -= 1 }
    }
}
