import Testing
import TrellisCore

/// The value of the `User-Agent` field.
struct UserAgentTests {
    private static let rest = "Trellis/\(TrellisRuntime.version)"

    @Test(
        arguments: [
            ("backup", "2.1", "backup/2.1 "), ("backup", nil, "backup "), ("", "2.1", ""),
            ("my tool (x)", "1 b", "mytoolx/1b "),
            ("a/b\r\n", "é", "ab "), ("!#$%&'*+-.^_`|~09azAZ", nil, "!#$%&'*+-.^_`|~09azAZ "),
        ] as [(String, String?, String)])
    func theAppComesFirst(_ app: String, _ version: String?, _ product: String) {
        #expect(UserAgent.naming(app, version: version) == product + Self.rest)
    }

    @Test func theDefaultNamesTheExecutable() {
        #expect(UserAgent.default.hasSuffix(" " + Self.rest))
        #expect(SessionConfiguration().userAgent == UserAgent.default)
    }
}
