import CCurl
import CServerTLS
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import CurlEngine

/// The watchdog measures the time of calls and picks the socket to shut down, here without libcurl.
struct CallWatchTests {
    /// The socket that a peer floods is shut down, and the other one is not.
    @Test(.timeLimit(.minutes(3)))
    func socketThatKeepsACallBusyIsShutDown() async throws {
        let quiet = try LoopbackPair(), flooded = try LoopbackPair()
        flooded.flood()
        // The time that the thread has used, or every day a time that passes with each look of the watchdog.
        let time = Atomic<UInt64>(0)
        let watch =
            Scale.isFull
            ? CallWatch()
            : CallWatch(dog: .shared) { time.add(600_000_000, ordering: .relaxed).newValue }
        Watchdog.shared.add(watch)
        defer { Watchdog.shared.remove(watch) }
        watch.didOpen(quiet.client)
        watch.didOpen(flooded.client)
        watch.begin()
        // The read only ends with the socket.
        flooded.readToTheEnd()
        #expect(watch.end() == flooded.client)
        #expect(watch.end() == nil)
        #expect(quiet.isOpen)
        // The number of a closed socket can be given to another file.
        watch.willClose(flooded.client)
        watch.willClose(quiet.client)
    }

    @Test func timeThatTheThreadDidNotUseDoesNotCount() throws {
        let pair = try LoopbackPair()
        let watch = CallWatch(dog: Watchdog()) { 7_000_000_000 }
        watch.didOpen(pair.client)
        watch.begin()
        for _ in 0..<100 {
            pair.send(100_000)
            #expect(watch.look())
            pair.read(100_000)
        }
        #expect(watch.end() == nil)
        #expect(pair.isOpen)
    }

    @Test func workWithoutBytesCutsNothing() throws {
        let pair = try LoopbackPair()
        let time = Atomic<UInt64>(0)
        let watch = CallWatch(dog: Watchdog()) { time.add(200_000_000, ordering: .relaxed).newValue }
        watch.didOpen(pair.client)
        watch.begin()
        for _ in 0..<100 { #expect(watch.look()) }
        #expect(watch.end() == nil)
        #expect(pair.isOpen)
    }

    /// Bytes that arrive during a long call, on a socket that the engine does not read, do not cause a shutdown of that socket.
    @Test func bytesThatNobodyReadsCutNothing() throws {
        let pair = try LoopbackPair()
        let time = Atomic<UInt64>(0)
        let watch = CallWatch(dog: Watchdog()) { time.add(200_000_000, ordering: .relaxed).newValue }
        watch.didOpen(pair.client)
        watch.begin()
        for look in 0..<100 {
            if look == 4 { pair.send(100_000) }
            #expect(watch.look())
        }
        #expect(watch.end() == nil)
        #expect(pair.isOpen)
    }

    @Test func bytesThatAreReadCutTheirSocket() throws {
        let pair = try LoopbackPair()
        let time = Atomic<UInt64>(0)
        let watch = CallWatch(dog: Watchdog()) { time.add(200_000_000, ordering: .relaxed).newValue }
        watch.didOpen(pair.client)
        watch.begin()
        // More than a second passes, half of which is over at the first check of the socket.
        for _ in 0..<7 {
            pair.send(100_000)
            pair.read(100_000)
            #expect(watch.look())
        }
        #expect(watch.end() == pair.client)
        #expect(!pair.isOpen)
    }

    @Test func manyShortCallsCutNothing() throws {
        let pair = try LoopbackPair()
        let time = Atomic<UInt64>(0)
        let watch = CallWatch(dog: Watchdog()) { time.add(200_000_000, ordering: .relaxed).newValue }
        watch.didOpen(pair.client)
        for _ in 0..<100 {
            watch.begin()
            pair.send(100_000)
            #expect(watch.look())
            pair.read(100_000)
            #expect(watch.end() == nil)
        }
        #expect(pair.isOpen)
    }

    @Test func engineThatDoesNothingLetsTheWatchdogSleep() {
        let watch = CallWatch(dog: Watchdog()) { 0 }
        watch.begin()
        #expect(watch.hasMoved)
        #expect(watch.look())
        _ = watch.end()
        #expect(watch.hasMoved)
        #expect(watch.look())
        #expect(!watch.hasMoved)
        #expect(!watch.look())
        watch.begin()
        #expect(watch.hasMoved)
    }
}

/// A TCP connection over loopback, with both ends.
final class LoopbackPair: Sendable {
    let client: Int32
    private let server: Int32

    init() throws {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let listener = socket(AF_INET, kind, 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let client = socket(AF_INET, kind, 0)
        self.client = client
        let isConnected = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(listener, pointer, size) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, pointer, &size) == 0 && connect(client, pointer, size) == 0
            }
        }
        server = ccurl_server_accept(listener)
        try #require(isConnected && server >= 0)
    }

    deinit {
        close(client)
        close(server)
    }

    /// Writes without end, on a thread of its own, as long as the other end accepts the bytes. The threads of Dispatch may be as few as the
    /// processors, and the test keeps one of them busy.
    func flood() {
        Thread.detachNewThread { [self] in
            let bytes = [UInt8](repeating: 0, count: 1 << 16)
            while unsafe Glibc.send(server, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0 {}
        }
    }

    /// Reads bytes as fast as they arrive, and tries again at once if there are none, until the end.
    func readToTheEnd() {
        var bytes = [UInt8](repeating: 0, count: 1 << 12)
        while true {
            let count = unsafe recv(client, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            if count == 0 || count < 0 && errno != EAGAIN { return }
        }
    }

    func send(_ count: Int) {
        var left = count
        let bytes = [UInt8](repeating: 0, count: count)
        while left > 0 {
            let sent = unsafe Glibc.send(server, bytes, left, Int32(MSG_NOSIGNAL))
            guard sent > 0 else { return }
            left -= sent
        }
    }

    func read(_ count: Int) {
        var bytes = [UInt8](repeating: 0, count: count)
        var left = count
        while left > 0 {
            let got = unsafe recv(client, &bytes, left, 0)
            guard got > 0 else { return }
            left -= got
        }
    }

    /// Whether the connection has neither ended nor failed.
    var isOpen: Bool {
        var byte: UInt8 = 0
        let count = unsafe recv(client, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count > 0 || count < 0 && errno == EAGAIN
    }
}
