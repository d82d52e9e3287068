import CCurl
private import Glibc

/// The interest that libcurl has in each socket, and the interest that is registered with the kernel. Changes are collected and applied
/// once per turn; only the last change of a socket counts.
///
/// A socket that becomes idle stays registered, because libcurl mostly soon has an interest again, and two system calls are saved. Data on
/// an idle HTTP/1 connection is either the end of the connection or bytes without a request. libcurl 7.88 treats connections with such
/// bytes and connections that were reset as usable, and 8.23 does not check a connection that was used a moment ago. The table ends all of
/// these connections in such a way that no byte of the next request can be sent, and no such byte can become part of its response.
struct SocketTable {
    /// The state of one socket.
    private struct Entry {
        /// The last interest of libcurl.
        var wanted: SocketInterest = []
        /// The last interest that was registered with the kernel.
        var registered: SocketInterest = []
        /// The number that distinguishes this use of the descriptor from the next one.
        var generation: UInt32 = 0
        /// Indicates whether libcurl's callback opened the socket, so that the closing of the socket is reported.
        var isOurs = false
        /// Indicates whether `dirty` lists the socket.
        var isDirty = false
        /// Indicates whether the socket is in libcurl's pool, after an HTTP/1 response.
        var isIdleHTTP1 = false
        /// The easy handle for which libcurl last had an interest in the socket.
        var user: ObjectIdentifier?
        /// The origin of the last request on the connection; empty before the end of the first one.
        var origin = ""
    }

    private var entries: [Entry] = []
    /// The sockets whose interest changed since the last turn.
    private var dirty: [Int32] = []
    /// The idle sockets on which data was received, and which are to be removed from the kernel's list.
    private var stale: [Int32] = []
    /// The number of sockets that are open now.
    private(set) var openCount = 0

    private subscript(descriptor: Int32) -> Entry {
        get { entries[Int(descriptor)] }
        _modify { yield &entries[Int(descriptor)] }
    }

    private mutating func makeRoom(for descriptor: Int32) {
        while entries.count <= Int(descriptor) { entries.append(Entry()) }
    }

    mutating func didOpen(_ descriptor: Int32) {
        makeRoom(for: descriptor)
        let generation = self[descriptor].generation &+ 1
        self[descriptor] = Entry(generation: generation, isOurs: true, isDirty: self[descriptor].isDirty)
        openCount += 1
    }

    /// Removes a socket that is about to be closed. The kernel itself forgets closed sockets.
    mutating func willClose(_ descriptor: Int32) {
        guard descriptor >= 0, Int(descriptor) < entries.count else { return }
        if self[descriptor].isOurs { openCount -= 1 }
        self[descriptor] = Entry(generation: self[descriptor].generation &+ 1, isDirty: self[descriptor].isDirty)
    }

    mutating func want(_ descriptor: Int32, _ interest: SocketInterest, for user: ObjectIdentifier?) {
        guard descriptor >= 0 else { return }
        makeRoom(for: descriptor)
        self[descriptor].wanted = interest
        if !interest.isEmpty {
            self[descriptor].isIdleHTTP1 = false
            self[descriptor].origin = ""
            self[descriptor].user = user
        }
        guard !self[descriptor].isDirty else { return }
        self[descriptor].isDirty = true
        dirty.append(descriptor)
    }

    /// Records the end of a transfer. Marks the socket as idle after an HTTP/1 response, unless the next transfer already uses it.
    mutating func didEndTransfer(
        on descriptor: Int32, generation: UInt32, after user: ObjectIdentifier, to origin: String, isHTTP1: Bool
    ) {
        guard descriptor >= 0, Int(descriptor) < entries.count, self[descriptor].generation == generation else {
            return
        }
        self[descriptor].origin = origin
        if isHTTP1, self[descriptor].user == user { self[descriptor].isIdleHTTP1 = true }
    }

    /// Shuts down one idle connection to an origin, or all idle ones if `origin` is `nil`. libcurl then finds them dead.
    ///
    /// - Parameter hasTransfers: Indicates whether libcurl has transfers. Then only HTTP/1.1 connections are known to be idle: streams that
    ///   are all paused look the same as none.
    mutating func closeIdle(to origin: String?, hasTransfers: Bool) {
        for descriptor in entries.indices {
            let entry = entries[descriptor]
            guard !entry.origin.isEmpty, origin == nil || entry.origin == origin,
                entry.isIdleHTTP1 || entry.isOurs && !hasTransfers
            else { continue }
            // The connection is closed once only.
            entries[descriptor].origin = ""
            shutdown(Int32(descriptor), Int32(SHUT_RDWR))
            if origin != nil { return }
        }
    }

    /// Shuts down a connection that libcurl keeps although no request may reuse it. libcurl then finds the connection dead.
    func cut(_ descriptor: Int32, generation: UInt32) {
        guard descriptor >= 0, self.generation(of: descriptor) == generation else { return }
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Returns the number that distinguishes one use of a descriptor from the next one.
    func generation(of descriptor: Int32) -> UInt32 {
        descriptor >= 0 && Int(descriptor) < entries.count ? entries[Int(descriptor)].generation : 0
    }

    /// Passes the changes since the last turn to the kernel.
    mutating func apply(to poller: Poller) {
        forgetStale(poller)
        guard !dirty.isEmpty else { return }
        for descriptor in dirty {
            self[descriptor].isDirty = false
            let entry = self[descriptor]
            let isKept = entry.wanted.isEmpty && entry.isOurs && entry.registered == .read
            // A response may have arrived before the socket was registered with the kernel; data after that response must be detected.
            let interest: SocketInterest = entry.wanted.isEmpty && entry.isIdleHTTP1 ? .read : entry.wanted
            guard interest != entry.registered, !isKept else { continue }
            // A socket that the kernel refuses stays unwatched; the timeouts of the request end the wait.
            let isDone = poller.watch(descriptor, generation: entry.generation, for: interest)
            self[descriptor].registered = isDone ? interest : []
        }
        dirty.removeAll(keepingCapacity: true)
    }

    /// Returns whether libcurl must be notified of a ready socket. An idle socket that is unclean (with received bytes, a failure or an
    /// end) is ended.
    mutating func isWanted(_ ready: ReadySocket) -> Bool {
        let descriptor = ready.descriptor
        guard Int(descriptor) < entries.count, self[descriptor].generation == ready.generation else { return false }
        guard self[descriptor].wanted.isEmpty else { return true }
        if self[descriptor].isIdleHTTP1, ccurl_socket_end_if_unclean(descriptor) {
            // The kernel has forgotten the old socket, and no data arrives on its replacement.
            self[descriptor].isIdleHTTP1 = false
            self[descriptor].registered = []
            return false
        }
        // The kernel reports an idle socket repeatedly (level-triggered), so the socket must be removed from the kernel's list.
        stale.append(descriptor)
        return false
    }

    /// Ends every idle socket that is unclean now, so that libcurl takes only clean connections from its pool.
    mutating func endUnclean(with poller: Poller) {
        guard openCount > 0 else { return }
        apply(to: poller)
        poller.lookAtAll(of: openCount) { ready in
            // The other sockets are handled in their turn.
            _ = isWanted(ready)
        }
    }

    /// Removes idle sockets on which data was received from the kernel's list.
    private mutating func forgetStale(_ poller: Poller) {
        for descriptor in stale where self[descriptor].wanted.isEmpty && !self[descriptor].registered.isEmpty {
            _ = poller.watch(descriptor, generation: self[descriptor].generation, for: [])
            self[descriptor].registered = []
        }
        stale.removeAll(keepingCapacity: true)
    }
}
