import CCurl
import Glibc
import Testing

@testable import CurlEngine

/// The engine shuts down its own connections only: libcurl may have closed a socket whose number the engine remembers.
@Suite struct SocketTableTests {
    /// Two sockets that are connected with each other.
    private struct Pair {
        let socket: Int32
        let peer: Int32

        init() throws {
            var sockets: [Int32] = [-1, -1]
            let code = unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &sockets)
            try #require(code == 0)
            (socket, peer) = (sockets[0], sockets[1])
        }

        /// Whether the peer has not been told of an end.
        var isOpen: Bool {
            var entry = pollfd(fd: peer, events: Int16(POLLIN), revents: 0)
            return unsafe poll(&entry, 1, 0) == 0
        }

        func end() {
            close(socket)
            close(peer)
        }
    }

    private final class User {}

    @Test func aConnectionIsCutWhileItIsOpen() throws {
        let pair = try Pair(), user = User()
        defer { pair.end() }
        var table = SocketTable()
        table.didOpen(pair.socket, for: ObjectIdentifier(user))
        let generation = table.generation(of: pair.socket)
        table.cut(pair.socket, generation: generation &+ 1)
        #expect(pair.isOpen)
        table.cut(pair.socket, generation: generation)
        #expect(!pair.isOpen)
    }

    @Test func aSocketThatBearsTheNumberOfAClosedOneIsNotCut() throws {
        let pair = try Pair(), user = User()
        defer { pair.end() }
        var table = SocketTable()
        table.didOpen(pair.socket, for: ObjectIdentifier(user))
        table.willClose(pair.socket)
        table.cut(pair.socket, generation: table.generation(of: pair.socket))
        #expect(pair.isOpen)
    }

    @Test func aSocketThatTheTableDoesNotKnowIsNotCut() throws {
        let pair = try Pair()
        defer { pair.end() }
        var table = SocketTable()
        table.cut(pair.socket, generation: 0)
        #expect(pair.isOpen)
    }

    /// The end of a request on an HTTP/1 connection, at an instant in nanoseconds.
    private func endRequest(
        in table: inout SocketTable, on socket: Int32, _ user: User, to origin: String = "a", at now: UInt64
    ) -> Bool {
        table.didEndTransfer(
            on: socket, generation: table.generation(of: socket), after: ObjectIdentifier(user), to: origin,
            isHTTP1: true, isExclusive: true, streamPort: 0, now: EngineInstant(nanoseconds: now))
    }

    /// libcurl has no interest in a socket if the response is there when the request is sent.
    @Test func aUseCountsWithoutAnInterestInTheSocket() throws {
        let pair = try Pair(), first = User(), second = User()
        defer { pair.end() }
        var table = SocketTable()
        table.didOpen(pair.socket, for: ObjectIdentifier(first))
        table.want(pair.socket, .read, for: ObjectIdentifier(first))
        table.want(pair.socket, [], for: ObjectIdentifier(first))
        let isFirstCounted = endRequest(in: &table, on: pair.socket, first, at: 10)
        #expect(isFirstCounted)
        table.didUse(pair.socket, by: ObjectIdentifier(second))
        let isSecondCounted = endRequest(in: &table, on: pair.socket, second, at: 20)
        #expect(isSecondCounted)
        let next = table.closeIdle(usedUntil: EngineInstant(nanoseconds: 10)) { _, _ in false }
        #expect(next == EngineInstant(nanoseconds: 20))
        #expect(pair.isOpen)
    }

    /// The connections to the addresses of a server are counted together, so that one to any of them is closed for another.
    @Test func anIdleConnectionToOneOfSeveralAddressesIsClosed() throws {
        let pair = try Pair(), user = User()
        defer { pair.end() }
        var parts = TransferRoute.Parts()
        parts.addresses = .found(name: "a")
        let whole = TransferRoute(parts)
        parts.addresses = .fixed(["192.0.2.1"])
        let limitName = whole.limitName(of: "a"), pool = TransferRoute(parts, of: whole).pool(of: limitName)
        var table = SocketTable()
        table.didOpen(pair.socket, for: ObjectIdentifier(user))
        table.want(pair.socket, .read, for: ObjectIdentifier(user))
        table.want(pair.socket, [], for: ObjectIdentifier(user))
        let isCounted = endRequest(in: &table, on: pair.socket, user, to: pool, at: 10)
        #expect(isCounted && pool != limitName)
        for other in ["a", limitName + "0"] { table.closeIdle(to: other) { _, _ in false } }
        // A new connection to the same address needs no room.
        table.closeIdle(to: limitName, except: pool) { _, _ in false }
        #expect(pair.isOpen)
        table.closeIdle(to: limitName, except: pool + "0") { _, _ in false }
        #expect(!pair.isOpen)
    }

    @Test func aSocketThatAnotherUserWantsIsNotIdle() throws {
        let pair = try Pair(), first = User(), second = User()
        defer { pair.end() }
        var table = SocketTable()
        table.didOpen(pair.socket, for: ObjectIdentifier(first))
        table.want(pair.socket, .read, for: ObjectIdentifier(second))
        table.didUse(pair.socket, by: ObjectIdentifier(first))
        let isCounted = endRequest(in: &table, on: pair.socket, first, at: 10)
        #expect(!isCounted)
        #expect(!table.hasUnused(to: "a"))
    }

    /// The generation is the one from when libcurl named the socket, not that of a later socket with the same number.
    @Test func theSocketOfATransferKeepsItsGeneration() async {
        let run = EngineRun()
        let found = await run.onEngine { () -> [Int]? in
            let context = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)
            defer { unsafe context.deallocate() }
            let shares = unsafe ShareHandles(own: nil, common: nil)
            guard
                let easy = unsafe EasyHandle(
                    configuration: EngineConfiguration(), defaultHeaderList: nil, context: context, shares: shares)
            else { return nil }
            (easy.socket, easy.socketGeneration) = (1000, 7)
            let socket = run.engine.socket(of: easy)
            return [Int(socket.descriptor), Int(socket.generation)]
        }
        #expect(found == [1000, 7])
        await run.finish()
    }
}
