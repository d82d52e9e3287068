import Foundation
import Testing

@testable import TrellisCore
@testable import TrellisUpgrades

/// The grammar of `Alt-Svc` (RFC 7838, section 3).
struct AlternativeServiceFieldTests {
    /// Returns the services of fields as text: protocol, host, port, seconds, and `p` for one that persists.
    private func read(_ fields: String...) -> [String]? {
        switch AlternativeServiceField(fields) {
        case nil: nil
        case .clear?: ["clear"]
        case .services(let services)?:
            services.map { "\($0.protocolID) \($0.host ?? "-") \($0.port) \($0.maxAge)\($0.persists ? " p" : "")" }
        }
    }

    @Test(
        arguments: [
            ("h3=\":443\"", ["h3 - 443 86400"]),
            ("h3=\":443\"; ma=2592000", ["h3 - 443 2592000"]),
            ("h2=\"Alt.Example:8000\", h2=\":443\"", ["h2 alt.example 8000 86400", "h2 - 443 86400"]),
            ("h3=\":443\"; ma=60; persist=1 ,h3-29=\":443\";ma=\"60\"", ["h3 - 443 60 p", "h3-29 - 443 60"]),
            ("h3=\":443\";persist=2", ["h3 - 443 86400"]), ("h3=\":443\";persist=\"1\"", ["h3 - 443 86400 p"]),
            ("h3=\"[2001:DB8::1]:1\"", ["h3 [2001:db8::1] 1 86400"]),
            ("h3=\"192.0.2.1:65535\"", ["h3 192.0.2.1 65535 86400"]),
            ("w%3Dx%3Ay#z=\":1\"", ["w=x:y#z - 1 86400"]), ("x%25y=\":1\"", ["x%y - 1 86400"]),
            ("h3=\":443\"; v=\"46,43\"; other=a, h2=\":1\"", ["h3 - 443 86400", "h2 - 1 86400"]),
            ("h3=\"\\:4\\43\"", ["h3 - 443 86400"]),
            ("h3=\":443\"; ma=99999999999999999999", ["h3 - 443 9223372036854775807"]),
            ("h3=\":443\"; MA=5", ["h3 - 443 5"]), (" , h3=\":443\" ,, ", ["h3 - 443 86400"]),
            ("clear", ["clear"]), (" clear ", ["clear"]),
            // Parts that are malformed are left out.
            ("nonsense, h3=\":443\"", ["h3 - 443 86400"]), ("clear, h3=\":443\"", ["h3 - 443 86400"]),
            ("h3=\":443\"; ma=-1, h2=\":1\"", ["h2 - 1 86400"]),
        ])
    func valid(_ field: String, _ services: [String]) {
        #expect(read(field) == services)
    }

    @Test(arguments: [
        "", " ", ",", "Clear", "CLEAR", "clear; ma=1", "h3", "h3=", "h3=:443", "h3=\"443\"", "h3=\":0\"",
        "h3=\":65536\"",
        "h3=\":-1\"", "h3=\":+1\"", "h3=\":4 3\"", "h3=\"\"", "h3=\":\"", "=\":443\"", "h3=\":443", "h3=\":443\" x",
        "h3=\":443\"; ma", "h3=\":443\"; ma=", "h3=\":443\"; ma=1x", "h3=\":443\"; ma=-1", "h3 =\":443\"",
        "h3= \":443\"", "h3=\"a b:1\"", "h3=\"a/b:1\"", "h3=\"u@a:1\"", "h3=\"[::1:1\"", "h3=\"[::g]:1\"",
        "h3=\"a..b:1\"", "h3=\"1.2.3.4.5:1\"", "h3=\"é.example:1\"", "%=\":1\"", "%4=\":1\"", "%zz=\":1\"",
        "%+1=\":1\"", "%00=\":1\"", "%E2%84%AA3=\":1\"",
        "h3=\":443\u{1}\"", "h3=\":\u{0664}43\"", "h3=\"a%25b:1\"",
    ])
    func invalid(_ field: String) {
        #expect(read(field) == nil)
    }

    @Test func severalFieldsAreOneList() {
        #expect(read("h3=\":1\"", "h2=\":2\"") == ["h3 - 1 86400", "h2 - 2 86400"])
        #expect(read("x", "h2=\":2\"") == ["h2 - 2 86400"])
        #expect(AlternativeServiceField([]) == nil)
    }

    @Test func theNumberOfServicesIsLimited() {
        let field = (1...10_000).map { "h3=\":\($0)\"" }.joined(separator: ",")
        #expect(read(field)?.count == AlternativeServiceField.limit)
        #expect(read(field)?.last == "h3 - 16 86400")
    }
}
