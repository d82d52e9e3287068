import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// Pins are compared with the validated chain, before anything is sent.
///
/// Serialized, because the tests share the peer's count of bytes.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct PinTests {
    private static let started = Peer.started("pins.py")

    private let peer: PinPeer

    init() async throws { peer = try await PinPeer(Self.started) }

    private func isMismatch(
        _ session: Session, _ request: Request, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let error = await expectFailure([.pinMismatch], sourceLocation) {
            try await session.data(request)
        }
        #expect(error?.mayHaveSentBytes == false && error?.isRetryable == false, sourceLocation: sourceLocation)
        #expect(error?.phase == .connecting && error?.attemptCount == 1, sourceLocation: sourceLocation)
        #expect(try await peer.receivedBytes() == 0, sourceLocation: sourceLocation)
    }

    @Test(arguments: [["leaf"], ["intermediate"], ["root"], ["stray", "intermediate"]])
    func aPinOfTheChainIsEnough(_ names: [String]) async throws {
        let session = try peer.session(pinning: names)
        for host in ["127.0.0.1", "localhost"] {
            for count in 1...3 {
                #expect(try await peer.get(session, peer.url("chain", host: host)).request == count)
            }
        }
        await session.shutdown()
    }

    @Test func aWrongPinLetsNothingThrough() async throws {
        let session = try peer.session(pinning: ["stray", "unknown"])
        let body = String(repeating: "secret", count: 50_000)
        for request in [
            Request(try peer.url("chain")),
            Request(try peer.url("chain"), method: .post, body: .string("secret")),
            Request(try peer.url("chain"), method: .put, body: .string(body)),
        ] {
            try await isMismatch(session, request)
        }
        await session.shutdown()
        try await peer.peer.waitUntilAllClosed()
    }

    @Test func theErrorListsTheChainAndTheConfiguredPins() async throws {
        let session = try peer.session(pinning: ["stray", "unknown"])
        let error = await expectFailure([.pinMismatch]) { try await session.data(peer.url("chain")) }
        guard case .securityFailed(.pinMismatch(let mismatch)) = error?.reason else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(mismatch.host == "127.0.0.1")
        #expect(try mismatch.chain.map(\.pin) == ["leaf", "intermediate", "root"].map { try peer.pin($0) })
        #expect(try Set(mismatch.configured) == [peer.pin("stray"), peer.pin("unknown")])
        for name in ["leaf", "intermediate", "root", "stray", "unknown"] {
            #expect(error?.description.contains(try peer.pin(name)) == true)
        }
        let chain = error?.metrics.serverTrust?.chain.map(\.publicKeyPin.description)
        #expect(try chain == ["leaf", "intermediate", "root"].map { try peer.pin($0) })
        await session.shutdown()
    }

    /// A server can send any certificate along, without its key.
    @Test func aCertificateThatIsMerelySentDoesNotCount() async throws {
        let session = try peer.session(pinning: ["stray"])
        try await isMismatch(session, Request(try peer.url("stray")))
        let other = try peer.session(pinning: ["root"])
        let (_, response) = try await other.data(peer.url("stray"))
        let trust = try #require(response.serverTrust)
        let stray = try peer.pin("stray")
        #expect(trust.sentChain.contains { $0.publicKeyPin.description == stray })
        #expect(!trust.chain.contains { $0.publicKeyPin.description == stray })
        await session.shutdown()
        await other.shutdown()
    }

    /// Every connection is a complete handshake, which shows the chain.
    @Test func newConnectionsResumeNoSession() async throws {
        let session = try peer.session(pinning: ["root"])
        for _ in 1...3 {
            #expect(try await peer.get(session, peer.url("chain", "/close")) == .init(request: 1, resumed: false))
        }
        await session.shutdown()
        // Without pins, sessions are resumed, so that the server would have let this session resume one.
        let plain = peer.session()
        _ = try await peer.get(plain, peer.url("chain", "/close"))
        #expect(try await peer.get(plain, peer.url("chain", "/close")) == .init(request: 1, resumed: true))
        await plain.shutdown()
    }

    @Test func hostsOfOneAddressHaveTheirOwnEvaluators() async throws {
        let manager = try ServerTrustManager(evaluators: [
            "127.0.0.1": peer.evaluator(["root"]), "localhost": peer.evaluator(["stray"]),
        ])
        let session = peer.session(manager)
        for _ in 1...2 {
            #expect(try await peer.get(session, peer.url("chain")).resumed == false)
            _ = try await peer.receivedBytes()
            try await isMismatch(session, Request(try peer.url("chain", host: "localhost")))
        }
        await session.shutdown()
    }

    @Test func aRedirectToAHostWithoutEvaluatorIsRefused() async throws {
        let manager = try ServerTrustManager(evaluators: ["127.0.0.1": peer.evaluator(["leaf"])])
        let session = peer.session(manager)
        let there = try peer.url("chain", host: "localhost")
        let error = await expectFailure([.trustRefused]) { try await session.data(peer.url("chain", "/to?\(there)")) }
        #expect(error?.reason == .securityFailed(.serverTrustEvaluationFailed(.noRequiredEvaluator(host: "localhost"))))
        #expect(error?.redirects.count == 1 && error?.isRetryable == false)
        let lenient = peer.session(
            try ServerTrustManager(
                allHostsMustBeEvaluated: false, evaluators: ["127.0.0.1": peer.evaluator(["leaf"])]))
        #expect(try await peer.get(lenient, peer.url("chain", "/to?\(there)")).request == 1)
        await session.shutdown()
        await lenient.shutdown()
    }

    @Test func aRedirectToAWrongPinIsRefused() async throws {
        let manager = try ServerTrustManager(evaluators: [
            "127.0.0.1": peer.evaluator(["leaf"]), "localhost": peer.evaluator(["stray"]),
        ])
        let session = peer.session(manager)
        let there = try peer.url("chain", host: "localhost")
        let error = await expectFailure([.pinMismatch]) { try await session.data(peer.url("chain", "/to?\(there)")) }
        #expect(error?.redirects.count == 1)
        await session.shutdown()
    }

    /// Pins do not replace the verification of the handshake.
    @Test func aPinnedServerOfAnUnknownAuthorityIsUntrusted() async throws {
        let session = try peer.session(pinning: ["unknown"])
        await expectFailure([.untrusted]) { try await session.data(peer.url("unknown")) }
        await session.shutdown()
    }

    /// Without verification, only the key of the server itself counts, for an evaluator that accepts that.
    @Test(arguments: [("chain", "leaf", true), ("unknown", "unknown", true), ("chain", "intermediate", false)])
    func pinsWithoutVerification(_ port: String, _ pin: String, _ isTrusted: Bool) async throws {
        let lenient = try PublicKeysTrustEvaluator(
            pins: [peer.pin(pin)], allowsSinglePin: true, performDefaultValidation: false)
        for (evaluator, kind) in [
            (lenient, isTrusted ? nil : .pinMismatch), (try peer.evaluator([pin]), .trustRefused),
        ] as [(PublicKeysTrustEvaluator, TrellisError.Kind?)] {
            let session = peer.session(ServerTrustManager(everyHost: evaluator)) {
                $0.tls = .insecureWithoutAnyVerification()
            }
            if let kind {
                let error = await expectFailure([kind]) { try await session.data(peer.url(port)) }
                #expect(error?.mayHaveSentBytes == false)
            } else {
                _ = try await session.data(peer.url(port))
            }
            await session.shutdown()
        }
    }

    @Test func http2IsEvaluatedForEachRequest() async throws {
        let session = try peer.session(pinning: ["intermediate"])
        let request = Request(try peer.url("h2", "/ok")).withHTTPVersion(.http2)
        try await withThrowingTaskGroup(of: HTTPVersion.self) { group in
            for _ in 0..<20 { group.addTask { try await session.data(request).1.version } }
            for try await version in group { #expect(version == .http2) }
        }
        await session.shutdown()
        let wrong = try peer.session(pinning: ["stray"])
        await withTaskGroup(of: TrellisError.Kind?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    do {
                        _ = try await wrong.data(request.withMethod(.post).withBody(.string("secret")))
                        return nil
                    } catch {
                        return (error as? TrellisError)?.kind
                    }
                }
            }
            for await kind in group { #expect(kind == .pinMismatch) }
        }
        await wrong.shutdown()
        try await peer.peer.waitUntilAllClosed()
    }

    @Test(arguments: [["leaf"], ["intermediate"]])
    func throughAnHTTPSProxyTheChainIsTheServers(_ names: [String]) async throws {
        let proxy = try Proxy(peer.url("proxy", ""))
        let session = try peer.session(pinning: names) { $0.proxy = .always(proxy) }
        #expect(try await peer.get(session, peer.url("chain")).request == 1)
        await session.shutdown()
        // The proxy's own key is not the server's.
        let wrong = try peer.session(pinning: ["proxy"]) { $0.proxy = .always(proxy) }
        _ = try await peer.receivedBytes()
        try await isMismatch(wrong, Request(try peer.url("chain")))
        await wrong.shutdown()
    }

    /// The reports among the events of a session.
    private final class Reports: EventMonitor {
        private let texts = Locked<[String]>([])
        var all: [String] { texts.withLock { $0 } }
        func handle(_ event: RequestEvent) async {
            if case .serverTrustReported(let report) = event.kind { texts.withLock { $0.append("\(report)") } }
        }
    }

    @Test(arguments: [PinEnforcement.reportOnly, .enforcedUntil(.distantPast)])
    func pinsThatAreNotEnforcedAreReported(_ enforcement: PinEnforcement) async throws {
        let reports = Reports()
        let session = try peer.session(pinning: ["stray"], enforcement) { $0.eventMonitors = [reports] }
        for _ in 1...2 { _ = try await peer.get(session, peer.url("chain")) }
        await session.shutdown()
        #expect(reports.all.count == 2)
        #expect(reports.all.allSatisfy { $0.contains("127.0.0.1") && $0.contains("not enforced") })
    }

    @Test func streamsDownloadsAndHandlesArePinned() async throws {
        let session = try peer.session(pinning: ["stray"])
        let url = try peer.url("chain")
        await expectFailure([.pinMismatch]) { _ = try await session.stream(url) }
        await expectFailure([.pinMismatch]) { try await session.request(url).data() }
        let folder = try temporaryFolder("pins")
        await expectFailure([.pinMismatch]) { try await session.download(url, to: .file(folder + "/a")) }
        await expectFailure([.pinMismatch]) { try await session.upload(.data(Data(count: 1 << 20)), to: Request(url)) }
        #expect(try await peer.receivedBytes() == 0)
        await session.shutdown()
    }
}
