import Testing

@testable import TrellisCore

/// The parts of a route.
struct RouteTests {
    private func expectInvalid<Value>(_ text: String, _ make: (String) throws -> Value) {
        do {
            Issue.record("'\(text)' became \(try make(text))")
        } catch {
            let error = error as? TrellisError
            #expect(error?.kind == .invalidRequest && error?.isRetryable == false, "\(text)")
            #expect((error?.description.utf8.count ?? 0) > 10, "\(text)")
        }
    }

    // MARK: Sockets

    @Test func aSocketHasAPathOrAName() throws {
        let (path, name) = (try UnixSocket.path("/run/x.sock"), try UnixSocket.abstract("x"))
        #expect(path.name == "/run/x.sock" && !path.isAbstract && "\(path)" == "/run/x.sock")
        #expect(name.name == "x" && name.isAbstract && "\(name)" == "@x")
        #expect(try UnixSocket.path("x") != name)
        #expect(try Route.unixSocket("/run/x.sock").unixSocket == path)
        #expect(try UnixSocket.path(String(repeating: "x", count: 107)).name.utf8.count == 107)
    }

    @Test(arguments: ["", "a\0b", String(repeating: "x", count: 108)])
    func whatNoSocketCanHaveIsAnError(_ text: String) {
        expectInvalid(text) { try UnixSocket.path($0) }
        expectInvalid(text) { try UnixSocket.abstract($0) }
        expectInvalid(text) { try Route.unixSocket($0) }
    }

    // MARK: Sources

    @Test(arguments: [
        ("eth0", "eth0", AddressFamily.any), ("wg-home.7", "wg-home.7", .any), ("192.0.2.1", "192.0.2.1", .ipv4),
        ("2001:DB8:0::1", "2001:db8::1", .ipv6), ("[::1]", "::1", .ipv6), ("::ffff:192.0.2.1", "192.0.2.1", .ipv4),
    ])
    func aSourceIsAnInterfaceOrAnAddress(_ text: String, _ name: String, _ family: AddressFamily) throws {
        let source = try SourceAddress(text)
        #expect(source.name == name && source.family == family)
        #expect(try (family == .any ? SourceAddress.interface(text) : .address(text)) == source)
    }

    @Test(arguments: [
        "", " ", "eth 0", "a/b", ".", "..", "if!eth0", "eth0:1", "eth0\n", "interface-of-16-b", "fe80::1%lo",
    ])
    func whatIsNoSourceIsAnError(_ text: String) {
        expectInvalid(text) { try SourceAddress($0) }
        expectInvalid(text) { try SourceAddress.interface($0) }
        expectInvalid(text) { try SourceAddress.address($0) }
    }

    @Test func aNameIsNoAddressAndAnAddressNoName() {
        for text in ["eth0", "localhost", "host.example"] { expectInvalid(text) { try SourceAddress.address($0) } }
        for text in ["127.0.0.1", "::1"] { expectInvalid(text) { try SourceAddress.interface($0) } }
    }

    // MARK: Other hosts

    @Test(arguments: [
        ("a.example:80:b.example:81", "a.example:80:b.example:81"), (":::", ":::"), ("::b:", "::b:"),
        ("A.Example::[2001:DB8::1]:1", "a.example::[2001:db8::1]:1"), ("[::1]:80::", "[::1]:80::"),
        (":80:127.0.0.1:8080", ":80:127.0.0.1:8080"), ("b\u{fc}cher.example::a:", "xn--bcher-kva.example::a:"),
    ])
    func anotherHostIsRead(_ text: String, _ description: String) throws {
        let entry = try ConnectTo(text)
        #expect(entry.description == description)
        let parts = try ConnectTo(
            host: entry.host, port: entry.port, targetHost: entry.targetHost, targetPort: entry.targetPort)
        #expect(parts == entry)
    }

    @Test(arguments: [
        "", "a", "a:80", "a:80:b", "a:80:b:81:c", "a:80:b:x", "a:0:b:1", "a:65536:b:1", "a:-1:b:1", "a:+1:b:1",
        "a b:80:c:1",
        "[::1:80:b:1", "[a]:80:b:1", "::1:80:b:1", "a/b:80:c:1", "a@b:80:c:1", "a%41:80:c:1", "a..:80:b:1", "a:80:b?:1",
        "a:\u{661}:b:1", "a:80:b:81 ",
    ])
    func whatIsNotFourPartsIsAnError(_ text: String) {
        expectInvalid(text) { try ConnectTo($0) }
    }

    @Test(arguments: [
        ("a.example", 80, ["a.example:80::", "a.example:::", ":80::", ":::"]), ("b.example", 80, [":80::", ":::"]),
        ("a.example", 81, ["a.example:::", ":::"]), ("www.a.example", 81, [":::"]),
    ])
    func emptyPartsMatchEverything(_ host: String, _ port: Int, _ matching: [String]) throws {
        let entries = try ["a.example:80::", "a.example:::", ":80::", ":::"].map { try ConnectTo($0) }
        #expect(entries.filter { $0.matches(host: host, port: port) }.map(\.description) == matching)
    }

    // MARK: Static addresses

    @Test(arguments: [
        ("a.example:443:192.0.2.1", "a.example:443:192.0.2.1"), ("A.example:*:192.0.2.1", "a.example:*:192.0.2.1"),
        ("*:80:127.0.0.1", "*:80:127.0.0.1"), ("*:*:127.0.0.1,::1", "*:*:127.0.0.1,[::1]"),
        ("a:1:[2001:DB8::1],2001:db8:0::2", "a:1:[2001:db8::1],[2001:db8::2]"), ("a:1:::1", "a:1:[::1]"),
        ("[::1]:80:127.0.0.1", "[::1]:80:127.0.0.1"), ("a:1:192.0.2.1,192.0.2.1", "a:1:192.0.2.1"),
        ("b\u{fc}cher.example:80:127.0.0.1", "xn--bcher-kva.example:80:127.0.0.1"),
    ])
    func addressesAreRead(_ text: String, _ description: String) throws {
        #expect(try StaticAddresses(text).description == description)
    }

    @Test(arguments: [
        "", "a", "a:80", "a:80:", "a:80:b.example", "a:80:192.0.2.1,", "a:80:,192.0.2.1", "a:80:192.0.2",
        "a:80:1.2.3.4.5",
        "a:80:[::1", "a:80:fe80::1%eth0", "a::192.0.2.1", "a:0:192.0.2.1", "a:65536:192.0.2.1", "a:x:192.0.2.1",
        ":80:192.0.2.1", "::1:80:192.0.2.1", "a b:80:192.0.2.1", "**:80:192.0.2.1", "a:80:192.0.2.1 ",
        "a:80:-192.0.2.1",
        "+a:80:192.0.2.1", "-a:80:192.0.2.1", "-a:80", "a:80:192.0.2.1,localhost", "a..:80:192.0.2.1",
    ])
    func whatIsNoEntryIsAnError(_ text: String) {
        expectInvalid(text) { try StaticAddresses($0) }
        expectInvalid(text) {
            var addresses = StaticAddresses()
            try addresses.add($0)
        }
    }

    @Test(arguments: [
        ("a.example", 80, ["192.0.2.1"]), ("A.EXAMPLE", 81, ["192.0.2.2"]), ("b.example", 80, ["192.0.2.3"]),
        ("b.example", 81, ["192.0.2.4", "::1"]), ("[::1]", 80, ["192.0.2.3"]),
    ])
    func theClosestEntryCounts(_ host: String, _ port: Int, _ found: [String]) throws {
        let addresses = try StaticAddresses(
            "*:*:192.0.2.4,[::1]", "*:80:192.0.2.3", "a.example:*:192.0.2.2", "a.example:80:192.0.2.1")
        #expect(addresses.addresses(of: host, port: port) == found)
    }

    @Test func entriesAreSetReplacedAndRemoved() throws {
        var addresses = try StaticAddresses("a:80:192.0.2.1", "a:80:192.0.2.2")
        #expect(addresses.description == "a:80:192.0.2.2")
        try addresses.set(["::1", "192.0.2.3"], for: "a", port: 80)
        try addresses.set(["192.0.2.4"], for: "*")
        #expect(addresses.description == "*:*:192.0.2.4 a:80:[::1],192.0.2.3")
        try addresses.set([], for: "*")
        #expect(addresses.addresses(of: "b", port: 80) == nil && !addresses.isEmpty)
        try addresses.set([], for: "A", port: 80)
        #expect(addresses == StaticAddresses() && addresses.isEmpty)
        for (list, host, port) in [(["x"], "a", 80), (["::1"], "a b", 80), (["::1"], "a", 0)] {
            expectInvalid("\(list) \(host) \(port)") { _ in try addresses.set(list, for: host, port: port) }
        }
    }

    @Test func aRequestHasARouteOfItsOwn() throws {
        let route = try Route.unixSocket("/run/x")
        let request = Request("http://localhost/").withRoute(route)
        #expect(request.route == route && request.withRoute(nil).route == nil)
        #expect(Request("http://localhost/").route == nil)
    }
}
