import Foundation
import Testing

@testable import TrellisCore
@testable import TrellisUpgrades

/// The grammar of `Strict-Transport-Security` (RFC 6797, section 6.1).
struct StrictTransportSecurityTests {
    @Test(
        arguments: [
            ("max-age=31536000", 31_536_000, false),
            ("max-age=15768000 ; includeSubDomains", 15_768_000, true),
            ("max-age=\"31536000\"", 31_536_000, false),
            ("max-age=0", 0, false),
            ("max-age=0; includeSubDomains", 0, true),
            ("includesubdomains; MAX-AGE=1", 1, true),
            (" ; max-age=1 ;; includeSubDomains ; ", 1, true),
            ("max-age = 1", 1, false),
            ("max-age=1; preload", 1, false),
            ("max-age=1; future=\"a;b, \\\"c\"; other=token", 1, false),
            ("max-age=00000000000000000000000000000007", 7, false),
            ("max-age=9223372036854775807", .max, false),
            ("max-age=9223372036854775808", .max, false),
            ("max-age=99999999999999999999999999999999999999999", .max, false),
        ] as [(String, Int64, Bool)])
    func valid(_ field: String, _ maxAge: Int64, _ includesSubdomains: Bool) {
        #expect(
            StrictTransportSecurity(field)
                == StrictTransportSecurity(maxAge: maxAge, includesSubdomains: includesSubdomains))
    }

    @Test(arguments: [
        "", ";", "includeSubDomains", "max-age", "max-age=", "max-age=\"\"", "max-age=-1", "max-age=+1", "max-age=1.5",
        "max-age=1s", "max-age=0x10", "max-age= ", "max-age=\"1", "max-age='1'", "max-age==1", "max-age=1 2",
        "max-age=1; max-age=1", "max-age=1; MAX-AGE=2", "max-age=1; includeSubDomains; includeSubDomains",
        "max-age=1; a; A", "max-age=1; includeSubDomains=true", "max-age=1; includeSubDomains=\"\"",
        "max-age=1, includeSubDomains", "max-age=1; b=", "max-age=1; =c", "max-age=1; d=\"e",
        "max-age=1 includeSubDomains", "max-age=1; \u{1}", "max-age=1; a=\"\u{0}\"", "max-age=\u{0661}", "max-age=1; é",
        "max-age=1\u{301}", "max\u{2010}age=1",
    ])
    func invalid(_ field: String) {
        #expect(StrictTransportSecurity(field) == nil)
    }

    @Test func aLongFieldOfManyDirectivesIsRead() {
        let directives = (0..<5_000).map { "d\($0)=\"\($0)\"" }.joined(separator: ";")
        #expect(StrictTransportSecurity("\(directives);max-age=7")?.maxAge == 7)
    }
}
