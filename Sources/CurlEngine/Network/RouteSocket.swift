import CCurl
private import Glibc

/// A netlink route socket, which reads the state of the network, and on which the kernel notifies of changes. It belongs to the network
/// namespace of the thread that opens it.
final class RouteSocket: Sendable {
    /// The changes that the kernel reports.
    enum Subject {
        /// No changes.
        case nothing
        /// Changes of the machine's addresses, and of the links that have them.
        case addresses
        /// Changes of links, addresses and routes.
        case everything
    }

    /// The notifications that have arrived.
    enum Arrival {
        case messages([NetlinkMessage])
        /// Notifications were lost, because the socket was full, so that the state must be read again.
        case overrun
        /// No more notifications arrive.
        case failure
    }

    let descriptor: Int32

    /// The size in bytes of the messages that the kernel sends at once is at most this.
    private static let capacity = 64 << 10

    /// Opens a socket; `nil` if the system permits none.
    ///
    /// - Parameter bufferSize: The limit on notifications that were not read yet, in bytes; 0 is the system's.
    init?(_ subject: Subject, bufferSize: Int32 = 0) {
        descriptor = ccurl_route_open(subject == .addresses, subject == .everything, bufferSize)
        if descriptor < 0 { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    // MARK: Notifications

    /// Reads the notifications that have arrived, without waiting.
    func arrivals() -> Arrival {
        var messages: [NetlinkMessage] = []
        var isOverrun = false
        // A flood of notifications must not keep the thread here.
        for _ in 0..<64 {
            switch receive(waits: false) {
            case .messages(let more) where more.isEmpty: return isOverrun ? .overrun : .messages(messages)
            case .messages(let more): messages += more
            case .overrun: isOverrun = true
            case .failure: return .failure
            }
        }
        return .overrun
    }

    private func receive(waits: Bool) -> Arrival {
        var size = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Self.capacity) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            size = unsafe ccurl_route_receive(descriptor, start, buffer.count, waits)
            count = max(size, 0)
        }
        if size < 0 { return size == Int(CCURL_ROUTE_OVERRUN) ? .overrun : .failure }
        return .messages(NetlinkMessage.all(in: bytes))
    }

    // MARK: State

    /// Reads the state of the network; `nil` if the system does not report it. May wait for other programs that change the network. The
    /// socket must have ``Subject/nothing``.
    func readState() -> NetworkState? {
        read([NetlinkMessage.Kind.getLink, NetlinkMessage.Kind.getAddresses, NetlinkMessage.Kind.getRoutes])
    }

    /// Reads the links and the addresses of the machine without its routes, as ``readState()`` does.
    func readAddresses() -> NetworkState? { read([NetlinkMessage.Kind.getLink, NetlinkMessage.Kind.getAddresses]) }

    private func read(_ requests: [UInt16]) -> NetworkState? {
        // Replies that an earlier reading has left after its failure have the same numbers.
        _ = arrivals()
        var state: NetworkState?
        var sequence: UInt32 = 0
        // If the network changes all the time, a state that may contradict itself is better than none: a notification follows.
        for _ in 0..<8 {
            var new = NetworkState()
            var isConsistent = true
            for request in requests {
                sequence += 1
                guard ccurl_route_request(descriptor, request, sequence),
                    let isWhole = readReplies(to: sequence, into: &new)
                else { return nil }
                isConsistent = isConsistent && isWhole
            }
            state = new
            if isConsistent { break }
        }
        return state
    }

    /// Reads the replies to a request. Returns whether they are consistent; `nil` after an error.
    private func readReplies(to sequence: UInt32, into state: inout NetworkState) -> Bool? {
        var isConsistent = true
        while true {
            guard case .messages(let messages) = receive(waits: true), !messages.isEmpty else { return nil }
            for message in messages where message.sequence == sequence {
                if message.flags & NetlinkMessage.interruptedFlag != 0 { isConsistent = false }
                switch message.kind {
                case NetlinkMessage.Kind.done:
                    // A negative number is an `errno`.
                    let code = Int32(bitPattern: message.payload.uint32(at: 0) ?? 0)
                    return code < 0 ? nil : isConsistent
                case NetlinkMessage.Kind.failure, NetlinkMessage.Kind.overrun: return nil
                default: state.add(message)
                }
            }
        }
    }
}
