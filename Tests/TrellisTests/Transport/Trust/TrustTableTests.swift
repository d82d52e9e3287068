import CurlEngine
import Foundation
import Testing

@testable import Trellis

/// The rules of TLS of a session, by host.
struct TrustTableTests {
    private static let now = EngineInstant(nanoseconds: 1)
    private static let broken = TLSConfiguration(authorities: .only([.file("/nonexistent.pem")]))

    private static func isDue(_ table: TrustTable, _ host: String, proxyHost: String? = nil) -> Bool {
        table.mustLoad(MonotonicClock.system) { (host, proxyHost) }
    }

    @Test func theUsualRulesAreOneObject() {
        let table = TrustTable(TLSConfiguration(), forHosts: [:])
        #expect(table.constant === TransferTrust.system)
        #expect(table.trust(for: "a.example", proxyHost: "b.example") === TransferTrust.system)
        #expect(!Self.isDue(table, "a.example"))
    }

    @Test func settingsNeedNoFile() {
        var tls = TLSConfiguration()
        tls.minimumVersion = .v1_3
        #expect(TrustTable(tls, forHosts: [:]).constant?.server.minimumVersion == .v1_3)
        guard
            case .unverified? = TrustTable(.insecureWithoutAnyVerification(), forHosts: [:]).constant?.server
                .authorities
        else {
            Issue.record("not without verification")
            return
        }
    }

    @Test func transfersFailUntilTheFilesWereRead() throws {
        let table = TrustTable(Self.broken, forHosts: [:])
        #expect(table.constant == nil && Self.isDue(table, "a.example"))
        #expect(table.trust(for: "a.example", proxyHost: nil) === TransferTrust.unread)
    }

    @Test func onlyTheFilesOfTheHostAreRead() async throws {
        let table = TrustTable(TLSConfiguration(), forHosts: [try HostPattern("*.example"): Self.broken])
        #expect(!Self.isDue(table, "elsewhere.test") && Self.isDue(table, "a.example"))
        #expect(Self.isDue(table, "elsewhere.test", proxyHost: "a.example"))
        #expect(try await table.load(host: "elsewhere.test", proxyHost: nil, now: Self.now).isEmpty)
        #expect(table.trust(for: "elsewhere.test", proxyHost: nil) === TransferTrust.system)
        for (host, proxyHost) in [("a.example", String?.none), ("elsewhere.test", "a.example")] {
            let error = await #expect(throws: TrellisError.self) {
                try await table.load(host: host, proxyHost: proxyHost, now: Self.now)
            }
            #expect(error?.kind == .file)
        }
    }

    @Test func theMostSpecificPatternApplies() throws {
        var versions: [HostPattern: TLSConfiguration] = [:]
        for (pattern, ciphers) in [("**.example", "any"), ("*.example", "one"), ("a.example", "exact")] {
            var tls = TLSConfiguration()
            tls.cipherList = ciphers
            versions[try HostPattern(pattern)] = tls
        }
        let table = TrustTable(TLSConfiguration(), forHosts: versions)
        let expected = ["a.example": "exact", "b.example": "one", "c.b.example": "any", "example": "any", "other": nil]
        for (host, ciphers) in expected {
            #expect(table.trust(for: host, proxyHost: nil).server.cipherList == ciphers, "\(host)")
            #expect(table.configuration(for: host).cipherList == ciphers)
            let both = table.trust(for: "a.example", proxyHost: host)
            #expect(both.server.cipherList == "exact" && both.proxy.cipherList == ciphers)
            #expect(both === table.trust(for: "a.example", proxyHost: host))
        }
    }
}
