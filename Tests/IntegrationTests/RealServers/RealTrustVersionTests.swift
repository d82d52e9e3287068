import Foundation
import Testing
import Trellis

/// The versions of TLS, and the protocols over it (ALPN; RFC 7301), of nginx and `openssl s_server`.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"), .requires("openssl"))
struct RealTrustVersionTests {
    private let server: RealTLSServer

    init() async throws { server = try await RealTLSServer.started.value }

    /// Requires that no version is allowed by both sides.
    private func hasNoVersion(
        _ error: TrellisError?, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        guard case .securityFailed(.version)? = error?.reason else {
            Issue.record("\(error as Any)", sourceLocation: sourceLocation)
            return
        }
        #expect(error?.isRetryable == false && error?.mayHaveSentBytes == false, sourceLocation: sourceLocation)
    }

    // MARK: Versions

    /// The options of a server, the rules of the session, and whether they have a version in common.
    @Test(arguments: [
        ("-tls1", TLSVersion.v1_2, TLSVersion?.none, false), ("-tls1_1", .v1_2, nil, false),
        ("-tls1_2", .v1_2, nil, true), ("-tls1_3", .v1_2, nil, true), ("-tls1_2", .v1_3, nil, false),
        ("-tls1_3", .v1_3, nil, true), ("-tls1_2", .v1_2, .v1_2, true), ("-tls1_3", .v1_2, .v1_2, false),
        ("-tls1_3", .v1_3, .v1_3, true),
    ])
    func versionsOfOpenSSL(
        _ options: String, _ minimum: TLSVersion, _ maximum: TLSVersion?, _ isAllowed: Bool
    ) async throws {
        let run = try await server.serve("good", "\(options) -cipher ALL:@SECLEVEL=0")
        let session = try server.session(port: run.port) {
            $0.tls.minimumVersion = minimum
            $0.tls.maximumVersion = maximum
        }
        if isAllowed {
            #expect(try await session.string("https://good.example/page") == "real")
        } else {
            hasNoVersion(await expectFailure([.tls]) { try await session.data("https://good.example/page") })
        }
        await session.shutdown()
        let end = try await server.end(of: run)
        #expect(end == .init(handshakes: isAllowed ? 1 : 0, requests: isAllowed ? 1 : 0))
    }

    /// The ciphers of the session would suit the old versions.
    @Test(arguments: [String?.none, "ALL:@SECLEVEL=0"])
    func anOldNginxIsRefused(_ ciphers: String?) async throws {
        let session = try server.session("nginx-old") { $0.tls.cipherList = ciphers }
        hasNoVersion(await expectFailure([.tls]) { try await session.data("https://good.example/old") })
        await session.shutdown()
        let other = try server.session()
        let mark = ciphers == nil ? "/after-old" : "/after-old-ciphers"
        _ = try await other.data("https://good.example\(mark)")
        await other.shutdown()
        let requests = try await server.requests(upTo: mark)
        #expect(!requests.contains("good.example /old"))
    }

    @Test(arguments: TLSVersion.allCases)
    func nginxHasBothVersions(_ version: TLSVersion) async throws {
        let session = try server.session {
            $0.tls.minimumVersion = version
            $0.tls.maximumVersion = version
        }
        #expect(try await session.string("https://good.example/") == "TLSv\(version.rawValue) . 1")
        await session.shutdown()
    }

    // MARK: Protocols

    @Test(arguments: [
        ("nginx", HTTPVersionPolicy.automatic, RunningLibcurl.usualVersion), ("nginx", .http1Only, .http1_1),
        ("nginx", .http2, .http2),
        ("nginx-http1", .automatic, .http1_1), ("nginx-http1", .http1Only, .http1_1),
    ])
    func protocolsOfNginx(_ port: String, _ policy: HTTPVersionPolicy, _ version: HTTPVersion) async throws {
        let session = try server.session(port)
        var request = Request("https://good.example/")
        request.httpVersion = policy
        for _ in 1...2 {
            let (_, response) = try await session.data(request)
            #expect(response.version == version)
        }
        await session.shutdown()
    }

    /// A server with HTTP/1.1 alone, and one without ALPN.
    @Test(arguments: ["-alpn http/1.1", ""], [HTTPVersionPolicy.automatic, .http1Only])
    func opensslHasHTTP1(_ options: String, _ policy: HTTPVersionPolicy) async throws {
        let run = try await server.serve("good", options)
        let session = try server.session(port: run.port)
        var request = Request("https://good.example/page")
        request.httpVersion = policy
        let (data, response) = try await session.data(request)
        #expect(String(decoding: data, as: UTF8.self) == "real" && response.version == .http1_0)
        await session.shutdown()
        let end = try await server.end(of: run)
        #expect(end == .init(handshakes: 1, requests: 1))
    }

    /// The server has HTTP/2 alone, and a request for HTTP/1.1 does not offer that.
    @Test func opensslHasHTTP2Alone() async throws {
        let run = try await server.serve("good", "-alpn h2")
        let session = try server.session(port: run.port)
        var request = Request("https://good.example/page")
        request.httpVersion = .http1Only
        let error = await expectFailure([.tls]) { try await session.data(request) }
        #expect(error?.mayHaveSentBytes == false && error?.isRetryable == false, "\(error as Any)")
        await session.shutdown()
        let end = try await server.end(of: run)
        #expect(end == .init(handshakes: 0, requests: 0))
    }
}
