import CurlEngine
import Testing

@testable import TrellisCore

/// The state for each host in a table, and the removal of hosts.
struct HostTableTests {
    struct Counter: HostState {
        var count = 0
        var isForgettable = true
        mutating func isForgettable(at now: EngineInstant) -> Bool { isForgettable }
    }

    static func table(_ hosts: Int, areForgettable: Bool) -> HostTable<Counter> {
        var table = HostTable { Counter() }
        for host in 0..<hosts {
            table.withState(of: "\(host)", at: .at(.zero)) {
                $0.count += 1
                $0.isForgettable = areForgettable
            }
        }
        return table
    }

    @Test func aHostKeepsItsState() {
        var table = Self.table(2, areForgettable: true)
        #expect(table.withState(of: "1", at: .at(.zero)) { $0.count } == 1)
        #expect(table.withState(of: "2", at: .at(.zero)) { $0.count } == 0)
        #expect(table.count == 3)
    }

    @Test func hostsInTurnHaveStatesOfTheirOwn() {
        var table = HostTable { Counter() }
        for host in ["a", "b", "a", "a", "b", "c", "a"] { table.withState(of: host, at: .at(.zero)) { $0.count += 1 } }
        let counts = ["a", "b", "c"].map { host in table.withState(of: host, at: .at(.zero)) { $0.count } }
        #expect(counts == [4, 2, 1])
    }

    @Test func aURLHasTheStateOfItsHost() {
        var table = HostTable { Counter() }
        let urls = [
            "http://a.example/1", "http://a.example/1", "http://A.example/2", "http://b.example/", "http://a.example/1",
        ]
        for url in urls { _ = table.withState(ofHostIn: url, at: .at(.zero)) { $0.count += 1 } }
        let counts = ["a.example", "b.example"].map { host in table.withState(of: host, at: .at(.zero)) { $0.count } }
        #expect(counts == [4, 1])
        let found = table.withState(ofHostIn: "http://ann:secret@a.example/", at: .at(.zero)) { $0.count }
        #expect(found.host == "a.example")
        #expect(found.result == 4)
    }

    @Test func theHostOfTheLastURLIsForgottenTooWhenThereAreMany() {
        var table = HostTable { Counter() }
        _ = table.withState(ofHostIn: "http://first.example/", at: .at(.zero)) { $0.count = 7 }
        for host in 0..<1024 {
            table.withState(of: "\(host)", at: .at(.zero)) {
                $0.count = 1
                $0.isForgettable = false
            }
        }
        let count = table.withState(ofHostIn: "http://first.example/", at: .at(.zero)) { $0.count }.result
        #expect(count == 0)
    }

    @Test func oldHostsAreForgottenWhenThereAreMany() {
        #expect(Self.table(1024, areForgettable: true).count == 1024)
        #expect(Self.table(1025, areForgettable: true).count == 1)
        #expect(Self.table(100_000, areForgettable: true).count <= 1024)
    }

    @Test func hostsInUseAreKept() {
        var table = Self.table(5000, areForgettable: false)
        #expect(table.count == 5000)
        #expect(table.withState(of: "4999", at: .at(.zero)) { $0.count } == 1)
    }

    @Test(arguments: [
        ("http://a.example/", "a.example"), ("HTTP://A.Example", "a.example"), ("http://a.example:80/x", "a.example"),
        ("https://a.example:443/x", "a.example"), ("https://a.example:80/", "a.example:80"),
        ("http://a.example:443/", "a.example:443"), ("http://a.example:8080?x", "a.example:8080"),
        ("http://ann:secret@a.example/@b", "a.example"), ("http://a.example:/", "a.example"),
        ("http://[::1]:80/", "[::1]"), ("http://[::80]/", "[::80]"), ("/users", ""), ("", ""), ("users", ""),
    ])
    func limitsGoByTheHost(_ url: String, _ host: String) { #expect(Request(url).limitedHost == host) }
}
