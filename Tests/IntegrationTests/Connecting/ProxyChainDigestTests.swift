import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// An HTTP proxy with Digest authentication after a SOCKS proxy that has credentials too. libcurl 8.23 makes the proofs; with older
/// versions, the session does.
@Suite(.timeLimit(.minutes(3)))
struct ProxyChainDigestTests {
    /// Starts both proxies. The HTTP proxy accepts only proofs with the last of its nonces, and names the next one if it gets another.
    ///
    /// - Parameter closes: Whether a connection is closed after a response of the server.
    private static func start(
        nonces: [String] = ["n1"], closes: Bool = false, connects: SOCKSPeer.Recorder? = nil
    ) throws -> LoopbackServer {
        try SOCKSPeer.start(login: ("zelda", "fr0nt"), connects: connects) { connection in
            while let request = try connection.nextRequest() {
                guard request.method == "CONNECT" || !request.target.hasPrefix("/") else {
                    let end = closes ? "Connection: close\r\n" : ""
                    try connection.write("HTTP/1.1 200 OK\r\n\(end)Content-Length: 2\r\n\r\nok")
                    if closes { return }
                    continue
                }
                if let last = nonces.last, request.method == "CONNECT", ProxyPeer.isDigest(of: request, nonce: last) {
                    try connection.write("HTTP/1.1 200 OK\r\n\r\n")
                    continue
                }
                let field = request["Proxy-Authorization"] ?? ""
                let used = nonces.firstIndex { field.contains(" nonce=\"\($0)\"") }
                let next = nonces[min(used.map { $0 + 1 } ?? 0, nonces.count - 1)]
                let parameters = used.map { $0 < nonces.count - 1 } == true ? ", stale=true" : ""
                try connection.write(
                    "HTTP/1.1 407 Who\r\nProxy-Authenticate: Digest realm=\"r\", nonce=\"\(next)\", qop=\"auth\", "
                        + "algorithm=SHA-256\(parameters)\r\nContent-Length: 2\r\n\r\nno")
            }
        }
    }

    private func session(
        _ peer: LoopbackServer, _ authentication: Proxy.Authentication = .digest, password: String = ProxyPeer.password
    ) throws -> Session {
        let front = try Proxy("socks5h://zelda:fr0nt@127.0.0.1:\(peer.port)")
        let proxy = try Proxy(
            "http://inner.invalid:3128", username: ProxyPeer.username, password: password,
            authentication: authentication)
        var configuration = SessionConfiguration()
        configuration.proxy = .always(try proxy.reached(through: front))
        return Session(configuration: configuration)
    }

    /// Returns the methods of the requests with the schemes of their credentials for the proxy.
    private func dialogue(_ peer: LoopbackServer) -> [String] {
        peer.requests.map { "\($0.method) \($0["Proxy-Authorization"].map { $0.prefix(6) } ?? "-")" }
    }

    @Test func eachProxyHasItsOwnCredentials() async throws {
        let connects = SOCKSPeer.Recorder()
        let peer = try Self.start(connects: connects)
        let session = try session(peer)
        for path in ["a", "b"] { #expect(try await session.string("http://Far.invalid/\(path)") == "ok") }
        #expect(dialogue(peer) == ["CONNECT -", "CONNECT Digest", "GET -", "GET -"])
        #expect(connects.all.allSatisfy { $0.username == "zelda" && $0.password == "fr0nt" })
        #expect(Set(connects.all.map(\.host)) == ["inner.invalid"])
        let heads = peer.requests.map { String(decoding: $0.headBytes, as: UTF8.self) }
        #expect(heads.allSatisfy { !$0.contains("zelda") && !$0.contains("fr0nt") && !$0.contains("Basic") })
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    /// The first challenge comes when nothing of the body has been read.
    @Test func aBodyThatCanBeReadOnlyOnceIsSent() async throws {
        let peer = try Self.start()
        let session = try session(peer)
        let body = RequestBody.stream(
            AsyncStream<Data> { stream in
                stream.yield(Data("abc".utf8))
                stream.finish()
            })
        let (_, response) = try await session.data(Request("http://far.invalid/", method: .post, body: body))
        #expect(response.status == .ok && peer.requests.last?.body == Data("abc".utf8))
        #expect(dialogue(peer) == ["CONNECT -", "CONNECT Digest", "POST -"])
        await session.shutdown()
    }

    @Test(
        .enabled(if: !LibcurlFeatures.current.separatesProxyCredentials, "libcurl makes the proofs"))
    func theNonceIsUsedAgain() async throws {
        let peer = try Self.start(closes: true)
        let session = try session(peer)
        for target in ["far.invalid", "other.invalid:81", "far.invalid"] {
            #expect(try await session.string("http://\(target)/") == "ok")
        }
        let turn = ["CONNECT Digest", "GET -"]
        #expect(dialogue(peer) == ["CONNECT -"] + turn + turn + turn)
        let fields = peer.requests.compactMap { $0["Proxy-Authorization"] }
        for (index, field) in fields.enumerated() { #expect(field.contains("nc=0000000\(index + 1), ")) }
        await session.shutdown()
    }

    @Test func aNonceThatIsOutOfDate() async throws {
        let peer = try Self.start(nonces: ["n1", "n2", "n3"])
        let session = try session(peer)
        #expect(try await session.string("http://far.invalid/") == "ok")
        #expect(dialogue(peer) == ["CONNECT -"] + Array(repeating: "CONNECT Digest", count: 3) + ["GET -"])
        await session.shutdown()
    }

    /// A proxy that finds each nonce out of date is asked a few times at most.
    @Test func nonceAfterNonce() async throws {
        let peer = try Self.start(nonces: (1...100).map { "n\($0)" })
        let session = try session(peer)
        let error = await expectFailure([.proxy]) { try await session.data("http://far.invalid/") }
        #expect(error?.description.contains("does not accept the session's credentials") == true, "\(error as Any)")
        #expect((3...8).contains(peer.requests.count), "\(peer.requests.count)")
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    @Test func aWrongPassword() async throws {
        let peer = try Self.start()
        let session = try session(peer, password: "wr0ng")
        let error = await expectFailure([.proxy]) { try await session.data("http://far.invalid/") }
        let expected = TrellisError.ProxyFailure.unauthorized(
            proxy: "inner.invalid:3128", status: 407, hasCredentials: true)
        #expect(error?.reason == .proxyFailed(expected) && error?.mayHaveSentBytes == false)
        #expect(dialogue(peer) == ["CONNECT -", "CONNECT Digest"])
        let text = error.map { "\($0) \(String(reflecting: $0))" } ?? ""
        for secret in ["wr0ng", "fr0nt", "zelda", "Digest "] { #expect(!text.contains(secret)) }
        await session.shutdown()
    }

    /// The request is sent with Basic credentials first, and the session remembers that the proxy wants others.
    @Test func theChallengeDecides() async throws {
        let peer = try Self.start()
        let session = try session(peer, .any)
        for path in ["a", "b"] { #expect(try await session.string("http://far.invalid/\(path)") == "ok") }
        #expect(dialogue(peer) == ["GET Basic ", "CONNECT -", "CONNECT Digest", "GET -", "GET -"])
        await session.shutdown()
    }
}
