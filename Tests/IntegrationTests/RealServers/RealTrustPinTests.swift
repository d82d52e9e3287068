import CurlEngine
import Foundation
import Testing
import Trellis

/// Pins are compared with the chain of nginx that the handshake has validated, before anything is sent.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"), .requires("openssl"))
struct RealTrustPinTests {
    static let versions: [HTTPVersionPolicy] = [.http1Only, .automatic]

    private let server: RealTLSServer

    init() async throws { server = try await RealTLSServer.started.value }

    private func evaluator(_ names: [String], _ enforcement: PinEnforcement = .enforced) throws
        -> PublicKeysTrustEvaluator
    {
        try PublicKeysTrustEvaluator(
            pins: names.map { try server.pin($0) }, enforcement: enforcement, allowsSinglePin: true)
    }

    private func session(
        pinning names: [String], _ enforcement: PinEnforcement = .enforced, _ monitors: [any EventMonitor] = []
    ) throws -> Session {
        let evaluator = try evaluator(names, enforcement)
        return try server.session {
            $0.serverTrustManager = ServerTrustManager(everyHost: evaluator)
            $0.eventMonitors = monitors
        }
    }

    private func request(_ url: String, _ version: HTTPVersionPolicy) -> Request {
        var request = Request(url)
        request.httpVersion = version
        return request
    }

    /// Requires that nginx has received no request for a path of a host.
    private func hasReceivedNothing(
        _ host: String, _ path: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let mark = "/after\(path)"
        let plain = try server.session()
        _ = try await plain.data("https://plain.example\(mark)")
        await plain.shutdown()
        let requests = try await server.requests(upTo: mark)
        #expect(!requests.contains("\(host) \(path)"), sourceLocation: sourceLocation)
    }

    @Test(arguments: [["good"], ["intermediate"], ["root"], ["stranger", "intermediate"]], versions)
    func aPinOfTheChainIsEnough(_ names: [String], _ version: HTTPVersionPolicy) async throws {
        let session = try session(pinning: names)
        for count in 1...3 {
            let text = try await session.string(request("https://pinned.example/", version))
            #expect(text == "TLSv1.3 . \(count)")
        }
        await session.shutdown()
    }

    @Test(arguments: versions)
    func aMismatchListsTheChainAndTheConfiguredPins(_ version: HTTPVersionPolicy) async throws {
        let session = try session(pinning: ["stranger"])
        let path = "/mismatch-\(version)"
        let error = try #require(
            await expectFailure([.pinMismatch]) {
                try await session.data(request("https://pinned.example\(path)", version))
            })
        await session.shutdown()
        guard case .securityFailed(.pinMismatch(let mismatch)) = error.reason else {
            Issue.record("\(error)")
            return
        }
        let chain = try ["good", "intermediate", "root"].map { try server.pin($0) }
        let stranger = try server.pin("stranger")
        #expect(mismatch.host == "pinned.example" && mismatch.subject == .publicKeys)
        #expect(mismatch.chain.map(\.pin) == chain && mismatch.configured == [stranger])
        #expect(mismatch.chain.map(\.subject) == ["CN=good", "CN=intermediate", "CN=root"])
        for pin in chain + [stranger] { #expect(error.description.contains(pin)) }
        #expect(!error.isRetryable && !error.mayHaveSentBytes && error.phase == .connecting)
        try await hasReceivedNothing("pinned.example", path)
    }

    /// A server can send any certificate along, without its key.
    @Test func aCertificateThatIsMerelySentDoesNotCount() async throws {
        let session = try session(pinning: ["stranger"])
        let error = await expectFailure([.pinMismatch]) { try await session.data("https://stray.example/sent-along") }
        #expect(error?.isRetryable == false && error?.mayHaveSentBytes == false)
        await session.shutdown()
        try await hasReceivedNothing("stray.example", "/sent-along")
        let other = try self.session(pinning: ["root"])
        let (_, response) = try await other.data("https://stray.example/")
        await other.shutdown()
        let trust = try #require(response.serverTrust)
        let stranger = try server.pin("stranger")
        #expect(trust.sentChain.contains { $0.publicKeyPin.description == stranger })
        #expect(!trust.chain.contains { $0.publicKeyPin.description == stranger })
    }

    /// The reports among the events of a session.
    private final class Reports: EventMonitor {
        private let reports = Locked<[ServerTrustReport]>([])
        var all: [ServerTrustReport] { reports.withLock { $0 } }
        func handle(_ event: RequestEvent) async {
            if case .serverTrustReported(let report) = event.kind { reports.withLock { $0.append(report) } }
        }
    }

    /// The pins are compared for each request, also on the connection of an earlier one.
    @Test(arguments: versions)
    func reportOnly(_ version: HTTPVersionPolicy) async throws {
        let reports = Reports()
        let session = try session(pinning: ["stranger"], .reportOnly, [reports])
        for count in 1...2 {
            let (data, response) = try await session.data(request("https://pinned.example/", version))
            #expect(String(decoding: data, as: UTF8.self) == "TLSv1.3 . \(count)")
            #expect(response.metrics.isReusedConnection == (count == 2))
        }
        await session.shutdown()
        try #require(reports.all.count == 2)
        let chain = try ["good", "intermediate", "root"].map { try server.pin($0) }
        for report in reports.all {
            guard case .pinMismatch(let mismatch) = report else {
                Issue.record("\(report)")
                continue
            }
            #expect(mismatch.host == "pinned.example" && mismatch.chain.map(\.pin) == chain)
        }
    }

    /// nginx resumes the TLS sessions of a host without pins. A resumed session has no chain, so that those of a pinned host are complete.
    @Test func newConnectionsToAPinnedHostResumeNoSession() async throws {
        let evaluator = try evaluator(["intermediate"])
        let session = try server.session {
            $0.serverTrustManager = try ServerTrustManager(
                allHostsMustBeEvaluated: false, evaluators: ["pinned.example": evaluator])
        }
        for (host, expected) in [
            ("plain.example", [".", "r", "r"]), ("pinned.example", [".", ".", "."]),
        ] {
            for each in expected {
                let text = try await session.string(request("https://\(host)/close", .http1Only))
                #expect(text == "TLSv1.3 \(each) 1", "\(host)")
            }
        }
        await session.shutdown()
    }

    /// One connection could be reused for both hosts, whose addresses and certificate are the same: each has its own pins.
    @Test(arguments: versions)
    func aConnectionOfAnotherHostIsNotUsed(_ version: HTTPVersionPolicy) async throws {
        let (good, wrong) = (try evaluator(["good"]), try evaluator(["stranger"]))
        let session = try server.session {
            $0.serverTrustManager = try ServerTrustManager(evaluators: [
                "good.example": good, "pinned.example": wrong,
            ])
        }
        let path = "/other-host-\(version)"
        for _ in 1...2 {
            _ = try await session.data(request("https://good.example/", version))
            let error = await expectFailure([.pinMismatch]) {
                try await session.data(request("https://pinned.example\(path)", version))
            }
            #expect(error?.mayHaveSentBytes == false)
        }
        await session.shutdown()
        try await hasReceivedNothing("pinned.example", path)
    }
}
