import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCore
@testable import TrellisUpgrades

extension HSTSStore {
    /// Takes the fields of a response to a request for a URL.
    func receive(_ fields: String..., from url: String) throws {
        var headers = HTTPFields()
        for field in fields { headers.append(HTTPField(name: .strictTransportSecurity, value: field)) }
        receive(ResponseHead(status: .ok, headers: headers), from: try WireURL(parsing: url))
    }

    /// Returns the URL that is requested in place of another one.
    func changed(_ url: String) throws -> String { upgraded(url, try WireURL(parsing: url)) ?? url }
}

/// The rules for known hosts (RFC 6797, sections 8.1 to 8.3).
struct HSTSStoreTests {
    private let clock = WallClock()
    private func store() -> HSTSStore { HSTSStore { [clock] in clock.now } }

    @Test(
        arguments: [
            ("http://a.example", "https://a.example/"), ("http://a.example/b?c#d", "https://a.example/b?c#d"),
            ("HTTP://A.Example/b", "https://A.Example/b"), ("http://a.example:80/", "https://a.example/"),
            ("http://a.example:8080/", "https://a.example:8080/"), ("http://a.example:443/", "https://a.example/"),
            ("http://u:p%40@a.example:80/?q", "https://u:p%40@a.example/?q"),
            ("http://a.example?q=http://b", "https://a.example/?q=http://b"),
            ("https://a.example:80/", "https://a.example:80/"), ("http://b.a.example/", "http://b.a.example/"),
            ("http://example/", "http://example/"), ("http://aa.example/", "http://aa.example/"),
            ("http://c.example/", "https://c.example/"), ("http://d.c.example/", "https://d.c.example/"),
            ("http://e.d.c.example:1/", "https://e.d.c.example:1/"), ("http://xc.example/", "http://xc.example/"),
            ("http://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"),
        ])
    func aURLOfAKnownHost(_ url: String, _ expected: String) throws {
        let store = store()
        try store.receive("max-age=10", from: "https://a.example/")
        try store.receive("max-age=10; includeSubDomains", from: "https://C.example:8443/x")
        try store.receive("max-age=10", from: "https://bücher.example/")
        #expect(try store.changed(url) == expected)
    }

    @Test(arguments: ["https://127.0.0.1/", "https://[::1]/", "https://192.0.2.1:8443/"])
    func anAddressIsNeverKnown(_ url: String) async throws {
        let store = store()
        try store.receive("max-age=10; includeSubDomains", from: url)
        #expect(await store.hosts.isEmpty)
        let plain = url.replacingOccurrences(of: "https", with: "http")
        #expect(try store.changed(plain) == plain)
    }

    @Test func timePasses() async throws {
        let store = store()
        try store.receive("max-age=10", from: "https://a.example/")
        clock.move(by: 9.9)
        #expect(await store.contains("A.example."))
        clock.move(by: 0.1)
        #expect(await !store.contains("a.example"))
        #expect(await store.hosts.isEmpty)
        try store.receive("max-age=10", from: "https://a.example/")
        clock.move(by: 5)
        try store.receive("max-age=10", from: "https://a.example/")
        clock.move(by: 9)
        #expect(await store.contains("a.example"))
    }

    @Test func aHostTakesItsWordBack() async throws {
        let store = store()
        try store.receive("max-age=10; includeSubDomains", from: "https://a.example/")
        try store.receive("max-age=10", from: "https://b.a.example/")
        try store.receive("max-age=0", from: "https://b.a.example/")
        #expect(await store.contains("b.a.example"))
        try store.receive("max-age=10", from: "https://a.example/")
        #expect(await !store.contains("b.a.example"))
        try store.receive("max-age=0; includeSubDomains", from: "https://a.example/")
        #expect(await !store.contains("a.example"))
    }

    @Test func theFirstFieldCounts() async throws {
        let store = store()
        try store.receive("max-age=10", "max-age=0", from: "https://a.example/")
        try store.receive("includeSubDomains", "max-age=10", from: "https://b.example/")
        #expect(await store.hosts.map(\.name) == ["a.example"])
    }

    @Test func theLongestTimeEndsWithTheCalendar() async throws {
        let store = store()
        try store.receive("max-age=99999999999999999999", from: "https://a.example/")
        #expect(await store.hosts.first?.expires == CurlTimestamp.date("99991231 23:59:59"))
    }

    @Test func hostsOfTheCaller() async throws {
        let store = store()
        await store.insert(try #require(HSTSHost(name: "Bücher.example", includesSubdomains: true)))
        #expect(await store.contains("a.xn--bcher-kva.example"))
        await store.remove("bücher.example")
        #expect(await store.hosts.isEmpty)
        #expect(HSTSHost(name: "127.0.0.1") == nil)
        #expect(HSTSHost(name: "a b") == nil)
        await store.insert(try #require(HSTSHost(name: "a.example")))
        await store.removeAll()
        #expect(await store.hosts.isEmpty)
    }

    /// No response changes a host of a preload list. A host with an end is like one that has asked.
    @Test(arguments: ["max-age=0", "max-age=60", "max-age=60; includeSubDomains"])
    func aResponseLeavesAPreloadedHostAsItIs(_ field: String) async throws {
        let store = store()
        let preloaded = try #require(
            HSTSHost(name: "a.example", includesSubdomains: field != "max-age=60; includeSubDomains"))
        await store.insert(preloaded)
        await store.insert(try #require(HSTSHost(name: "b.example", expires: clock.now.addingTimeInterval(1000))))
        for name in ["a", "b"] { try store.receive(field, from: "https://\(name).example/") }
        clock.move(by: 61)
        #expect(await store.hosts == [preloaded])
    }

    /// A server with many names cannot fill the memory. The hosts that end last stay.
    @Test func theNumberOfHostsIsLimited() async throws {
        let store = store()
        for number in 0..<HSTSFormat.limit + 1 {
            await store.insert(
                try #require(
                    HSTSHost(name: "h\(number).example", expires: clock.now.addingTimeInterval(Double(number + 1)))))
        }
        let hosts = await store.hosts
        #expect(hosts.count == HSTSFormat.limit * 7 / 8)
        #expect(await store.contains("h\(HSTSFormat.limit).example"))
        #expect(await !store.contains("h0.example"))
    }
}
