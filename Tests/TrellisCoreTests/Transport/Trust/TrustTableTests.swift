import CurlEngine
import Foundation
import TestSupport
import Testing

@testable import TrellisCore

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

    /// A host whose evaluator needs a stapled response has rules that require one, and connections of its own.
    @Test func evaluatorsRequireAStapledResponse() throws {
        let composite = try CompositeTrustEvaluator(
            evaluators: [DefaultTrustEvaluator(), RevocationTrustEvaluator(options: .stapledResponse)])
        let manager = try ServerTrustManager(evaluators: [
            "a.example": RevocationTrustEvaluator(), "b.example": composite,
            "c.example": RevocationTrustEvaluator(options: .revocationLists), "d.example": DefaultTrustEvaluator(),
        ])
        let table = TrustTable(TLSConfiguration(), forHosts: [:], evaluators: manager)
        #expect(table.constant == nil && !Self.isDue(table, "a.example"))
        for host in ["a.example", "b.example"] {
            let trust = table.trust(for: host, proxyHost: nil)
            #expect(trust.server.requiresStapledResponse && trust.pool("x") != "x", "\(host)")
            #expect(trust === table.trust(for: host, proxyHost: "p.example"))
            #expect(table.configuration(for: host).requiresStapledResponse)
        }
        for host in ["c.example", "d.example", "e.example"] {
            #expect(table.trust(for: host, proxyHost: nil) === TransferTrust.system, "\(host)")
            #expect(!table.configuration(for: host).requiresStapledResponse)
        }
        #expect(table.trust(for: nil, proxyHost: "a.example") === TransferTrust.system)
        let harmless = ServerTrustManager(everyHost: DefaultTrustEvaluator())
        #expect(TrustTable(TLSConfiguration(), forHosts: [:], evaluators: harmless).constant === TransferTrust.system)
    }

    /// With lists, any check is made already. Without verification, the evaluator refuses whatever the server sends.
    @Test func noStapledResponseIsRequiredWithListsOrWithoutVerification() throws {
        var lists = TLSConfiguration(authorities: .only([.pem(TestCertificates.rootPEM)]))
        lists.revocationLists = [.pem(TestCertificates.revocationListPEM)]
        let hosts: [HostPattern: TLSConfiguration] = [
            try HostPattern("a.example"): lists, try HostPattern("b.example"): .insecureWithoutAnyVerification(),
        ]
        for options in RevocationTrustEvaluator.Options.allCases {
            let manager = ServerTrustManager(everyHost: RevocationTrustEvaluator(options: options))
            let table = TrustTable(TLSConfiguration(), forHosts: hosts, evaluators: manager)
            let isRequired = ["a.example", "b.example", "c.example"].map {
                table.configuration(for: $0).requiresStapledResponse
            }
            let expected = [options == .stapledResponse, false, options != .revocationLists]
            #expect(isRequired == expected, "\(options)")
        }
    }

    /// libcurl distinguishes the TLS sessions of two tables by the texts of their authorities: it does not compare the lists, and one list
    /// may have the path of another one that is gone.
    @Test func differentRevocationListsHaveDifferentMarks() async throws {
        func table(_ lists: [CertificateSource]) async throws -> TransferTrust {
            var tls = TLSConfiguration(authorities: .only([.pem(TestCertificates.rootPEM)]))
            tls.revocationLists = lists
            let table = TrustTable(tls, forHosts: [:])
            _ = try await table.load(host: "a.example", proxyHost: nil, now: Self.now)
            return table.trust(for: "a.example", proxyHost: nil)
        }
        let list = CertificateSource.pem(TestCertificates.revocationListPEM)
        let again = CertificateSource.pem(TestCertificates.revocationListPEM + "\n")
        let (one, two) = (try await table([list]), try await table([list, again]))
        guard case .pem(let first, _) = one.server.authorities, case .pem(let second, _) = two.server.authorities else {
            Issue.record("no text")
            return
        }
        #expect(first != second && one.pool("x") != two.pool("x"))
    }

    /// Rules for a server and a proxy are new ones if one of the two was read again.
    @Test func rulesOfPairsHaveNumbersOfTheirOwn() async throws {
        func tls(_ ciphers: String) -> TLSConfiguration {
            var tls = TLSConfiguration(authorities: .only([.pem(TestCertificates.rootPEM)]))
            tls.cipherList = ciphers
            return tls
        }
        let names = ["a.example", "b.example", "c.example"]
        let hosts = try names.map { (try HostPattern($0), tls($0)) }
        let table = TrustTable(TLSConfiguration(), forHosts: Dictionary(uniqueKeysWithValues: hosts))
        let unread = table.trust(for: names[0], proxyHost: names[1])
        for name in names { _ = try await table.load(host: name, proxyHost: nil, now: Self.now) }
        #expect(table.trust(for: names[0], proxyHost: names[1]) !== unread)
        let pairs = names.flatMap { name in names.map { table.trust(for: name, proxyHost: $0).pool("x") } }
        #expect(Set(pairs).count == pairs.count)
    }
}
