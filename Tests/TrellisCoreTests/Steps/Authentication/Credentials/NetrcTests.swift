import Foundation
import Testing

@testable import TrellisCore

/// Netrc files, parsed as curl parses them.
struct NetrcTests {
    typealias Entry = Netrc.Entry

    struct Row: Sendable, CustomTestStringConvertible {
        let text: String
        let entries: [Entry]
        var testDescription: String { text.debugDescription }

        init(_ text: String, _ entries: Entry...) {
            self.text = text
            self.entries = entries
        }
    }

    static let ada = Entry(machine: "a.example", login: "ada", password: "secret")

    static let rows: [Row] = [
        Row(""), Row("# machine a.example"), Row("\n\n"), Row("login ada password secret"),
        Row("machine a.example login ada password secret", ada),
        Row("machine a.example\r\n\tlogin ada\r\n\tpassword secret\r\n", ada),
        Row("MACHINE a.example Login ada PassWord secret", ada),
        Row("machine a.example password secret login ada account x", ada),
        Row("machine a.example login ada # password other\npassword secret", ada),
        Row("machine a.example login ada port 99 password secret", ada),
        Row(
            "machine a.example login ada password secret machine b.example default login any password thing",
            ada, Entry(machine: "b.example"), Entry(machine: nil, login: "any", password: "thing")),
        Row(
            #"machine "a.example" login "ada l" password "a\"b\\c\td\n #\e""#,
            Entry(machine: "a.example", login: "ada l", password: "a\"b\\c\td\n #e")),
        Row(#"machine a.example login "" password """#, Entry(machine: "a.example", login: "", password: "")),
        Row(#"machine a.example password a"b#c"#, Entry(machine: "a.example", password: #"a"b#c"#)),
        Row(
            "machine x macdef init\ncd /pub\nmachine evil login no\n\nmachine a.example login ada password secret",
            Entry(machine: "x"), ada),
        Row("macdef init\r\nmachine evil\r\n\r\nmachine a.example login ada password secret", ada),
        Row("macdef unfinished\nmachine a.example login ada"),
        Row(
            "machine a.example login ada password \"#s3cret\" # not this\nmachine b.example login bob password x",
            Entry(machine: "a.example", login: "ada", password: "#s3cret"),
            Entry(machine: "b.example", login: "bob", password: "x")),
        Row(
            "machine a.example login ada password\n\"machine\"",
            Entry(machine: "a.example", login: "ada", password: "machine")),
        Row("machine\na.example\nlogin\nada\npassword\nsecret", ada),
        Row("machine"), Row("machine a.example login", Entry(machine: "a.example")),
        Row("machine login password secret", Entry(machine: "login", password: "secret")),
    ]

    @Test(arguments: rows)
    func filesAreRead(_ row: Row) throws { #expect(try Netrc(parsing: row.text).entries == row.entries) }

    @Test(arguments: [
        ("machine a.example password \"secret", 1), ("\nmachine a\npassword \"x\\\ny\"", 3), ("\"", 1), ("a \"\\\"", 1),
    ])
    func quotesThatDoNotEndAreAnError(_ text: String, _ line: Int) {
        #expect(throws: AuthenticationError.malformedNetrc(line: line)) { try Netrc(parsing: text) }
    }

    /// curl 7.88 takes the next keyword for the value, and so sends one machine the password of another.
    @Test(arguments: [
        ("machine a.example login ann password #s3cret\nmachine b.example login bob password x", 1),
        ("machine a.example login ann password # it\nis-here", 1), ("machine a.example login #ann", 1),
        ("machine # none", 1), ("machine a.example account #1", 1), ("macdef #", 1),
        ("machine a.example login ann password\nmachine b.example login bob password x", 2),
        ("machine a.example login\n\n  default login bob password x", 3),
        ("machine a.example login ann password\r\nMACHINE b.example", 2),
    ])
    func aMissingValueIsAnError(_ text: String, _ line: Int) {
        #expect(throws: AuthenticationError.malformedNetrc(line: line)) { try Netrc(parsing: text) }
    }

    static let several = """
        machine a.example login ada password one
        machine A.example login bob password two
        machine b.example password only
        default login any password thing
        machine late login never password used
        """

    @Test(
        arguments: [
            ("a.example", nil, "ada", "one"), ("A.EXAMPLE", nil, "ada", "one"), ("a.example", "bob", "bob", "two"),
            ("b.example", nil, "", "only"), ("b.example", "carl", "carl", "only"), ("c.example", nil, "any", "thing"),
            ("late", nil, "any", "thing"), ("late", "never", "never", "used"),
        ] as [(String, String?, String, String)])
    func theFirstThatFitsCounts(_ host: String, _ user: String?, _ login: String, _ password: String) throws {
        let netrc = try Netrc(parsing: Self.several)
        #expect(netrc.credential(for: host, user: user) == .basic(username: login, password: password))
    }

    @Test func whoIsNotNamedHasNone() throws {
        let netrc = try Netrc(parsing: "machine a.example login ada password one")
        #expect(netrc.credential(for: "b.example") == nil)
        #expect(netrc.credential(for: "a.example", user: "bob") == nil)
    }

    @Test func aFileIsLoaded() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/netrc-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("machine a.example login ada password secret".utf8).write(to: URL(filePath: path))
        #expect(try await Netrc.load(from: path).entries == [Self.ada])
        #expect(try await Netrc.load(from: URL(filePath: path)).entries == [Self.ada])
        try Data(count: (1 << 20) + 1).write(to: URL(filePath: path))
        await #expect(throws: AuthenticationError.unreadableNetrc(path: path, reason: "it is larger than 1 MiB")) {
            try await Netrc.load(from: path)
        }
        let missing = path + "-missing"
        await #expect(throws: AuthenticationError.self) { try await Netrc.load(from: missing) }
    }
}
