import CCurl
private import Glibc

/// What libcurl wants of each socket, and what the kernel was told. Changes are collected and applied once a turn, the
/// last word wins.
///
/// A socket that goes idle stays registered: mostly it is wanted again soon, and two system calls are saved. Whatever
/// comes in on an idle HTTP/1 connection is either its end or bytes that nobody asked for. libcurl 7.88 takes connections with
/// bytes and those that were reset for good ones, and 8.23 does not look at one that was used a moment ago. All are ended here, in
/// such a way that no byte of the next request can leave, and none of those bytes can become its response.
struct SocketTable {
    private struct Entry {
        var wanted: SocketInterest = []
        var registered: SocketInterest = []
        var generation: UInt32 = 0
        /// Opened through libcurl's callback, so that its closing is heard of.
        var isOurs = false
        var isDirty = false
        /// In the pool, after an HTTP/1 response.
        var isIdleHTTP1 = false
        /// The handle for which libcurl wanted something of it last.
        var user: ObjectIdentifier?
    }

    private var entries: [Entry] = []
    private var dirty: [Int32] = []
    private var stale: [Int32] = []
    /// Sockets that are open now.
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

    /// The kernel forgets a socket when it is closed.
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
            self[descriptor].user = user
        }
        guard !self[descriptor].isDirty else { return }
        self[descriptor].isDirty = true
        dirty.append(descriptor)
    }

    /// A response over HTTP/1 has ended, and the socket may be used again. It may have been taken already, by the next one.
    mutating func didBecomeIdle(_ descriptor: Int32, generation: UInt32, after user: ObjectIdentifier) {
        guard descriptor >= 0, Int(descriptor) < entries.count, self[descriptor].generation == generation,
            self[descriptor].user == user
        else { return }
        self[descriptor].isIdleHTTP1 = true
    }

    /// Ends a connection that libcurl keeps although no request may use it again; libcurl finds it dead.
    func cut(_ descriptor: Int32, generation: UInt32) {
        guard descriptor >= 0, self.generation(of: descriptor) == generation else { return }
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Tells one use of a descriptor's number from the next.
    func generation(of descriptor: Int32) -> UInt32 {
        descriptor >= 0 && Int(descriptor) < entries.count ? entries[Int(descriptor)].generation : 0
    }

    /// Tells the kernel what changed since the last turn.
    mutating func apply(to poller: Poller) {
        forgetStale(poller)
        guard !dirty.isEmpty else { return }
        for descriptor in dirty {
            self[descriptor].isDirty = false
            let entry = self[descriptor]
            let isKept = entry.wanted.isEmpty && entry.isOurs && entry.registered == .read
            // An answer may have come before the kernel was told to look for it; what comes after it must be seen.
            let interest: SocketInterest = entry.wanted.isEmpty && entry.isIdleHTTP1 ? .read : entry.wanted
            guard interest != entry.registered, !isKept else { continue }
            // A refusal leaves the socket unwatched; the request's own timeouts end what waits for it.
            let isDone = poller.watch(descriptor, generation: entry.generation, for: interest)
            self[descriptor].registered = isDone ? interest : []
        }
        dirty.removeAll(keepingCapacity: true)
    }

    /// Whether libcurl should hear of a ready socket. An idle one that is unclean is ended.
    mutating func isWanted(_ ready: ReadySocket) -> Bool {
        let descriptor = ready.descriptor
        guard Int(descriptor) < entries.count, self[descriptor].generation == ready.generation else { return false }
        guard self[descriptor].wanted.isEmpty else { return true }
        if self[descriptor].isIdleHTTP1, ccurl_socket_end_if_unclean(descriptor) {
            // The kernel has forgotten the old one, and nothing comes in on the new one.
            self[descriptor].isIdleHTTP1 = false
            self[descriptor].registered = []
            return false
        }
        // An idle socket is level-triggered too: out of the kernel's list with it.
        stale.append(descriptor)
        return false
    }

    /// Ends every idle socket that is unclean at this moment. What libcurl then takes from its pool is clean.
    mutating func endUnclean(with poller: Poller) {
        guard openCount > 0 else { return }
        apply(to: poller)
        poller.lookAtAll(of: openCount) { ready in
            // The others wait for their turn.
            _ = isWanted(ready)
        }
    }

    /// Takes idle sockets on which something came in out of the kernel's list.
    private mutating func forgetStale(_ poller: Poller) {
        for descriptor in stale where self[descriptor].wanted.isEmpty && !self[descriptor].registered.isEmpty {
            _ = poller.watch(descriptor, generation: self[descriptor].generation, for: [])
            self[descriptor].registered = []
        }
        stale.removeAll(keepingCapacity: true)
    }
}
