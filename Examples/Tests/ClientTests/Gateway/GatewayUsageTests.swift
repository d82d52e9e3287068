import Testing

/// Wrong usage of `trellis gateway`.
@Suite(.timeLimit(.minutes(60))) struct GatewayUsageTests {
    private static let listening = ["gateway", "--listen", "127.0.0.1:0"]

    @Test(arguments: [["--listen", "127.0.0.1:0"], ["--origin", "http://localhost:1"]])
    func bothEndsAreNeeded(arguments: [String]) async throws {
        try await expectUsageError(["gateway"] + arguments)
    }

    @Test(arguments: ["1", "a:b", ":80", "::1:80", "a:70000"])
    func anAddressHasAHostAndAPort(address: String) async throws {
        try await expectUsageError(["gateway", "--listen", address, "--origin", "http://localhost:1"])
    }

    @Test(arguments: [
        "", "a.example", "//a.example", "ftp://a.example", "http://", "http://a.example/b", "http://a.example?",
        "http://a.example#", "http://u@a.example", "http://a.example:b",
    ])
    func anOriginHasASchemeAndAHostAlone(origin: String) async throws {
        try await expectUsageError(Self.listening + ["--origin", origin])
    }

    @Test(arguments: [
        ["--private"], ["--targeted", "A"], ["--cache="], ["--cache", "memory", "--targeted", "A("],
        ["--cache", "memory", "--targeted", "A,,B"], ["--drain", "0"], ["--idle-timeout", "-1"],
        ["--connect-timeout", "x"], ["--client-timeout", "0"], ["--keep-alive", "0"], ["--http", "4"], ["extra"],
    ])
    func optionsThatAreWrong(options: [String]) async throws {
        try await expectUsageError(Self.listening + ["--origin", "http://localhost:1"] + options)
    }

    @Test(arguments: [
        ("it does not have the form HOST:PORT", ["--listen", "1"]),
        ("its port is not a number from 0 to 65535", ["--listen", "a:b"]),
        ("an IPv6 address is put in brackets", ["--listen", "::1:80"]),
    ])
    func theReasonForAnAddressIsSaid(reason: String, arguments: [String]) async throws {
        try await expectUsageError(["gateway", "--origin", "http://localhost:1"] + arguments, saying: reason)
    }

    @Test func theReasonForAnOriginIsSaid() async throws {
        try await expectUsageError(
            Self.listening + ["--origin", "a.example"], saying: "with a host, and perhaps a port, alone")
    }

    @Test(arguments: [
        ("'A(' cannot be the name of a field", ["--cache", "memory", "--targeted", "A("]),
        ("--idle-timeout must be more than 0", ["--idle-timeout", "-1"]), ("See 'trellis gateway --help'", ["--nope"]),
    ])
    func theReasonForAnOptionIsSaid(reason: String, options: [String]) async throws {
        try await expectUsageError(Self.listening + ["--origin", "http://localhost:1"] + options, saying: reason)
    }
}
