import Testing

@testable import CurlEngine

/// The rules of TLS of transfers.
struct TransferTrustTests {
    @Test func poolsOfOneHostAreDistinguished() {
        let rules = TransferTrust.system.server
        #expect(TransferTrust.system.pool("https://a:443") == "https://a:443")
        #expect(TransferTrust(server: rules, proxy: rules, number: 0).pool("x") == "x")
        let one = TransferTrust(server: rules, proxy: rules, number: 1).pool("x")
        let two = TransferTrust(server: rules, proxy: rules, number: 2).pool("x")
        #expect(one != two && one != "x" && !one.contains(" "))
    }

    @Test func aURLNamesThePoolOfTheRulesThatAsk() throws {
        let rules = TransferTrust.system.server
        let numbered = [1, 2, 1].map { TransferTrust(server: rules, proxy: rules, number: $0) }
        let url = try WireURL(parsing: "https://a.example/x")
        #expect(TransferTrust.system.pool(of: url) == url.origin)
        for trust in numbered + [.system] { #expect(trust.pool(of: url) == trust.pool(url.origin)) }
    }

    @Test func theMarkIsALineThatIsNoPEM() {
        let text = TransferTrust.marked(Array("-----BEGIN".utf8), 7)
        #expect(String(decoding: text, as: UTF8.self) == "# 7\n-----BEGIN")
        #expect(text != TransferTrust.marked(Array("-----BEGIN".utf8), 8))
    }

    @Test func theExampleOfTheSystemIsOneCertificate() {
        let example = SystemAuthorities.Version.first.example()
        guard !example.isEmpty else { return }
        #expect(ClientCertificate.certificateCount(example) == 1)
    }
}
