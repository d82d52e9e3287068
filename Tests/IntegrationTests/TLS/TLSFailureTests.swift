import Testing
import Trellis
import TrellisTesting

/// TLS servers that must not be trusted, or that fail, cause an error, and leave the session usable.
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct TLSFailureTests {
    private static let started = Peer.started("tls.py")

    private let peer: Peer
    private let session: Session

    init() async throws {
        peer = try await Self.started.value
        session = peer.session()
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func validCertificateIsTrusted(_ host: String) async throws {
        let (data, _) = try await session.data(peer.url("valid", host: host))
        #expect(String(decoding: data, as: UTF8.self) == "secure")
        try await isHealthyAndLeavesNothing()
    }

    /// A burst on a new session to a server without HTTP/2 waits for the first handshake, which may select HTTP/2, and not for the first
    /// response.
    @Test func manyRequestsAtOnceToAServerWithoutHTTP2() async throws {
        let url = try peer.url("together")
        try await withThrowingTaskGroup(of: Int.self) { [session] group in
            for _ in 0..<50 { group.addTask { try await session.data(url).1.status.code } }
            for try await status in group { #expect(status == 204) }
        }
        try await isHealthyAndLeavesNothing()
    }

    @Test(arguments: ["expired", "wrong-host", "unknown-ca"])
    func badCertificateIsNotTrusted(_ port: String) async throws {
        let error = await expectFailure([.untrusted]) { try await session.data(peer.url(port)) }
        #expect(error?.mayHaveSentBytes == false)
        try await isHealthyAndLeavesNothing()
    }

    /// A certificate with only a common name is not trusted (RFC 9110, section 4.3.4).
    @Test(arguments: ["127.0.0.1", "localhost"])
    func commonNameAloneIsNotTrusted(_ host: String) async throws {
        await expectFailure([.untrusted]) { try await session.data(peer.url("no-san", host: host)) }
        try await isHealthyAndLeavesNothing()
    }

    @Test func aServerWithoutTLSIsSaidToHaveNone() async throws {
        let plain = try LoopbackServer { connection in
            try connection.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            try connection.readToEnd()
        }
        let error = await expectFailure([.tls]) { try await session.data("https://127.0.0.1:\(plain.port)/") }
        #expect(error?.description.contains("the peer has not answered in TLS, but perhaps in plain text") == true)
        try await plain.waitUntilAllClosed()
        try await isHealthyAndLeavesNothing()
    }

    @Test func authorityThatWasNotNamedIsNotTrusted() async throws {
        let strict = Session()
        await expectFailure([.untrusted]) { try await strict.data(peer.url("valid")) }
        await strict.shutdown()
        try await isHealthyAndLeavesNothing()
    }

    @Test(arguments: ["expired", "wrong-host", "unknown-ca", "no-san"])
    func anythingGoesWithoutVerification(_ port: String) async throws {
        var configuration = SessionConfiguration()
        configuration.tls = .insecureWithoutAnyVerification()
        let insecure = Session(configuration: configuration)
        let (data, _) = try await insecure.data(peer.url(port))
        #expect(String(decoding: data, as: UTF8.self) == "secure")
        await insecure.shutdown()
        try await isHealthyAndLeavesNothing()
    }

    @Test(arguments: ["cut-off", "reset", "tls1.1"])
    func handshakeThatFails(_ port: String) async throws {
        let error = await expectFailure([.tls]) { try await session.data(peer.url(port)) }
        #expect(error?.isConnectionFailure == true)
        try await isHealthyAndLeavesNothing()
    }

    @Test(arguments: ["stalled", "unaccepting"])
    func handshakeThatStalls(_ port: String) async throws {
        let clock = TestClock(), events = ConnectionEvents()
        let session = peer.session(clock: clock) { $0.eventMonitors = [events] }
        let request = Request(try peer.url(port)).withTimeouts(Timeouts(connect: .seconds(10)))
        async let failure = expectFailure([.connectTimeout]) { try await session.data(request) }
        let address = try peer.url(port, "", scheme: "").dropFirst(3)
        try await events.wait(for: port == "stalled" ? "handshaking 127.0.0.1" : "connecting \(address)")
        await session.settle()
        clock.move(by: .seconds(10))
        #expect(await failure?.isTimeout == true)
        await session.shutdown()
        try await isHealthyAndLeavesNothing()
    }

    @Test func connectionCutInTheBody() async throws {
        await expectFailure([.truncatedBody, .receive]) { try await session.data(peer.url("cut-in-body")) }
        try await isHealthyAndLeavesNothing()
    }

    @Test func plainHTTPToATLSPort() async throws {
        await expectFailure([.receive, .malformedResponse]) {
            try await session.data(peer.url("valid", scheme: "http"))
        }
        try await isHealthyAndLeavesNothing()
    }

    @Test func tlsToAPlainPort() async throws {
        let plain = try LoopbackServer { connection in
            _ = try connection.read()
            try connection.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        await expectFailure([.tls]) { try await session.data(plain.url(scheme: "https")) }
        try await isHealthyAndLeavesNothing()
        try await plain.waitUntilAllClosed()
    }

    @Test(arguments: ["/nonexistent/ca.pem", "/etc/hostname"])
    func authorityFileThatCannotBeUsed(_ path: String) async throws {
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: path)
        let other = Session(configuration: configuration)
        await expectFailure([.file]) { try await other.data(peer.url("valid")) }
        await other.shutdown()
        try await isHealthyAndLeavesNothing()
    }

    private func isHealthyAndLeavesNothing(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let (data, _) = try await session.data(peer.url("valid"))
        #expect(String(decoding: data, as: UTF8.self) == "secure", sourceLocation: sourceLocation)
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }
}
