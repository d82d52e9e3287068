import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// SOCKS proxies that break the rules. Every failure is one of the proxy or of a time limit, ends in finite time, and sends nothing.
@Suite(.timeLimit(.minutes(3)))
struct HostileSOCKSTests {
    /// A dialogue: the replies of the proxy, each sent after a message of the client.
    struct Dialogue: Sendable, CustomTestStringConvertible {
        let replies: [[UInt8]]
        let ending: Ending

        init(_ replies: [UInt8]..., then ending: Ending = .close) { (self.replies, self.ending) = (replies, ending) }

        /// The kind of the error: silence ends at the time limit.
        var kind: TrellisError.Kind { ending == .keepOpen ? .connectTimeout : .proxy }

        var testDescription: String { "\(replies.map { Array($0.prefix(12)) }), then \(ending)" }
    }

    static let ok: [UInt8] = [5, 0]

    static let fifth: [Dialogue] = [
        // The choice of the method: GSSAPI, a login that was not offered, private and unknown methods, another version.
        Dialogue([5, 1]), Dialogue([5, 2]), Dialogue([5, 0x80]), Dialogue([5, 0xfe]),
        Dialogue([5, 0xff]), Dialogue([4, 0]), Dialogue([0, 0]), Dialogue([255, 255]),
        Dialogue([5]), Dialogue([5], then: .reset), Dialogue([5], then: .keepOpen),
        Dialogue([], then: .keepOpen), Dialogue([]), Dialogue([], then: .reset),
        // The reply: another version, an unknown type of address, cut short in each of its parts, silent in each of its parts.
        Dialogue(ok, [4, 0, 0, 1, 0, 0, 0, 0, 0, 0]), Dialogue(ok, [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
        Dialogue(ok, [5, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Dialogue(ok, [5, 0, 0, 9, 0, 0, 0, 0, 0, 0]),
        Dialogue(ok, [5, 0, 0, 255] + [UInt8](repeating: 255, count: 300)),
        Dialogue(ok, []), Dialogue(ok, [], then: .keepOpen), Dialogue(ok, [], then: .reset),
        Dialogue(ok, [5, 0]), Dialogue(ok, [5, 0], then: .keepOpen),
        Dialogue(ok, [5, 0, 0, 1, 0, 0, 0, 0, 0]),
        Dialogue(ok, [5, 0, 0, 1, 0, 0, 0, 0, 0], then: .keepOpen),
        Dialogue(ok, [5, 0, 0, 3, 255] + [UInt8](repeating: 97, count: 100)),
        Dialogue(ok, [5, 0, 0, 3, 255] + [UInt8](repeating: 97, count: 256), then: .keepOpen),
        Dialogue(ok, [5, 0, 0, 4, 0, 0, 0, 0, 0, 0]),
        Dialogue(ok, [5, 0, 0, 4, 0, 0, 0, 0, 0, 0], then: .keepOpen),
    ]

    static let fourth: [Dialogue] = [
        Dialogue([]), Dialogue([], then: .keepOpen), Dialogue([], then: .reset),
        Dialogue([0]), Dialogue([0, 90]), Dialogue([0, 90, 0, 0, 0, 0, 0]),
        Dialogue([0, 90, 0, 0, 0, 0, 0], then: .keepOpen),
        Dialogue([4, 90, 0, 0, 0, 0, 0, 0]), Dialogue([5, 0, 0, 0, 0, 0, 0, 0]),
        Dialogue([255, 255, 255, 255, 255, 255, 255, 255]), Dialogue(Array("HTTP/1.1 400 Bad\r\n".utf8)),
    ]

    static let logins: [Dialogue] = [
        Dialogue([5, 2], [1, 1]), Dialogue([5, 2], [1, 255]), Dialogue([5, 2], [1]),
        Dialogue([5, 2], [1], then: .keepOpen), Dialogue([5, 2], []),
        Dialogue([5, 2], [], then: .keepOpen), Dialogue([5, 2], [], then: .reset),
        Dialogue([5, 2], Array("HTTP/1.1 400".utf8)), Dialogue([5, 1]), Dialogue([5, 3]),
    ]

    private let clock = TestClock()

    private func peer(_ dialogue: Dialogue, _ reached: LoopbackServer.Gate) throws -> LoopbackServer {
        try LoopbackServer { connection in
            for reply in dialogue.replies {
                _ = try connection.read()
                try connection.write(reply)
            }
            reached.open()
            switch dialogue.ending {
            case .keepOpen: connection.waitUntilPeerCloses()
            case .close: connection.shutdownWrite()
            case .reset: connection.reset()
            }
        }
    }

    private func fails(_ dialogue: Dialogue, _ scheme: String, _ login: String = "") async throws {
        let reached = LoopbackServer.Gate(), peer = try peer(dialogue, reached)
        var configuration = SessionConfiguration()
        configuration.proxy = .always(try Proxy("\(scheme)://\(login)127.0.0.1:\(peer.port)"))
        let session = Session(configuration: configuration, clock: clock)
        async let failure = expectFailure([dialogue.kind]) { try await session.data("http://far.invalid/") }
        if dialogue.ending == .keepOpen {
            try await reached.opened()
            await session.settle()
            clock.move(by: .seconds(10))
        }
        let error = await failure
        #expect(error?.mayHaveSentBytes == false && error?.isConnectionFailure == true, "\(error as Any)")
        #expect(error.map { "\($0) \(String(reflecting: $0))".contains("s3cret") } == false)
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    @Test(arguments: fifth) func version5(_ dialogue: Dialogue) async throws { try await fails(dialogue, "socks5h") }

    @Test(arguments: fourth) func version4(_ dialogue: Dialogue) async throws { try await fails(dialogue, "socks4a") }

    @Test(arguments: logins) func theLogin(_ dialogue: Dialogue) async throws {
        try await fails(dialogue, "socks5h", "ada:s3cret@")
    }

    @Test(arguments: [11, 12, 90, 127, 128, 254, 255] as [UInt8], [Proxy.Kind.socks5h, .socks4a])
    func anUnknownCodeIsAFailure(_ code: UInt8, _ kind: Proxy.Kind) async throws {
        guard kind == .socks5h || code != 90 else { return }
        let peer = try SOCKSPeer.start(reply: code)
        var configuration = SessionConfiguration()
        configuration.proxy = .always(try Proxy("\(kind.rawValue)://127.0.0.1:\(peer.port)"))
        let session = Session(configuration: configuration)
        let error = await expectFailure([.proxy]) { try await session.data("http://far.invalid/") }
        #expect(error?.mayHaveSentBytes == false)
        await session.shutdown()
    }

    /// The address in a success may have any type and length, and may come byte by byte.
    @Test(
        arguments: [
            [1, 1, 2, 3, 4, 0, 80], [4] + [UInt8](repeating: 7, count: 18), [3, 3, 97, 97, 97, 0, 80],
            [3, 255] + [UInt8](repeating: 97, count: 257),
        ] as [[UInt8]], [false, true])
    func everyAddressOfASuccess(_ address: [UInt8], _ isSlow: Bool) async throws {
        let peer = try success(address, isSlow: isSlow)
        var configuration = SessionConfiguration()
        configuration.proxy = .always(try Proxy("socks5h://127.0.0.1:\(peer.port)"))
        // Both sides take turns for each of up to 260 bytes.
        configuration.timeouts.connect = .seconds(100)
        let session = Session(configuration: configuration)
        #expect(try await session.string("http://far.invalid/") == "ok")
        await session.shutdown()
        #expect(peer.errors.isEmpty)
    }

    /// libcurl waits for ten bytes, which a success with an empty name does not have, and before 8.23 one with a name of two bytes at most:
    /// the wait ends at the limit for connecting.
    @Test(arguments: [0, 1, 2] as [UInt8])
    func aSuccessWithAShortName(_ length: UInt8) async throws {
        let name = [UInt8](repeating: 97, count: Int(length))
        let reached = LoopbackServer.Gate()
        let peer = try success([3, length] + name + [0, 80], isSlow: false, reached)
        var configuration = SessionConfiguration()
        configuration.proxy = .always(try Proxy("socks5h://127.0.0.1:\(peer.port)"))
        let isRead = length > 0 && LibcurlFeatures.current.isAtLeast(8, 23)
        let session = Session(configuration: configuration, clock: clock)
        if isRead {
            #expect(try await session.string("http://far.invalid/") == "ok")
        } else {
            async let failure = expectFailure([.connectTimeout]) { try await session.data("http://far.invalid/") }
            try await reached.opened()
            await session.settle()
            clock.move(by: .seconds(10))
            let error = await failure
            #expect(error?.mayHaveSentBytes == false && peer.requests.isEmpty)
        }
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    /// Starts a proxy that reports success with the type of an address, the address and the port, and then responds itself.
    private func success(
        _ address: [UInt8], isSlow: Bool, _ reached: LoopbackServer.Gate = LoopbackServer.Gate()
    ) throws -> LoopbackServer {
        try LoopbackServer { connection in
            _ = try connection.read(exactly: 3)
            try connection.write(Self.ok)
            _ = try connection.read(exactly: 18)
            let reply = [5, 0, 0] + address
            for piece in isSlow ? reply.map({ [$0] }) : [reply] {
                try connection.write(piece)
                connection.waitUntilReceived()
            }
            reached.open()
            while try connection.nextRequest() != nil {
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
    }

    /// The protocol has one byte for the length of the server's name.
    @Test(arguments: ["socks5h", "socks4a"])
    func aServerWithALongName(_ scheme: String) async throws {
        let peer = try SOCKSPeer.start()
        var configuration = SessionConfiguration()
        configuration.proxy = .always(try Proxy("\(scheme)://127.0.0.1:\(peer.port)"))
        let session = Session(configuration: configuration)
        let host = Array(repeating: String(repeating: "a", count: 59), count: 5).joined(separator: ".")
        let error = await expectFailure([.invalidURL]) { try await session.data("http://\(host)/") }
        #expect(error?.mayHaveSentBytes == false && peer.acceptedCount == 0)
        await session.shutdown()
    }

    @Test(arguments: ["ada", String(repeating: "a", count: 256)], ["s", String(repeating: "s", count: 256)])
    func credentialsThatAreTooLong(_ username: String, _ password: String) throws {
        guard max(username.utf8.count, password.utf8.count) > 255 else { return }
        for scheme in ["socks4", "socks4a", "socks5", "socks5h"] {
            #expect(throws: TrellisError.self) {
                try Proxy("\(scheme)://proxy.example", username: username, password: password)
            }
        }
        // HTTP has no such limit.
        #expect(throws: Never.self) { try Proxy("http://proxy.example", username: username, password: password) }
    }
}
