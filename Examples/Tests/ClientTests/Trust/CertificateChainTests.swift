import Testing

/// A root, an intermediate that it has signed, and a leaf, whose server also sends a stranger: a certificate that plays no part.
@Suite(.timeLimit(.minutes(60))) struct CertificateChainTests {
    /// Runs the client for the server. It trusts the certificate of a name, if any.
    private func fetch(_ options: String..., trusting name: String? = "root", pins: String...) async throws -> Run {
        var arguments = ["https://127.0.0.1:\(try await Secure.port("chain"))/"] + options
        if let name { arguments += ["--cacert", try await Secure.file("\(name).pem")] }
        for pin in pins { arguments += ["--pin", try await Secure.pin(pin)] }
        return try await client(arguments)
    }

    /// The names and pins of shown certificates, in order.
    private func shown(_ run: Run) -> [String] {
        run.errors.lines.compactMap { line in
            let match = line.wholeMatch(of: /\d+  subject  CN=(.*)|   pin      (.*)/)
            return (match?.1 ?? match?.2).map(String.init)
        }
    }

    /// The same as it should be.
    private func wanted(_ names: String...) async throws -> [String] {
        var wanted: [String] = []
        for name in names { wanted += [name, try await Secure.pin(name)] }
        return wanted
    }

    @Test(arguments: ["leaf", "intermediate", "root"])
    func eachCertificateOfTheChainCanBePinned(_ name: String) async throws {
        let run = try await fetch(pins: name)
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test func aCertificateThatWasMerelySentDoesNotCount() async throws {
        let run = try await fetch("--report", "json", pins: "stranger")
        #expect(run.status == 90)
        #expect(run.report.values("error.kind", "error.retryable", "status") == ["pin_mismatch", false, .null])
        for name in ["leaf", "intermediate", "root"] {
            #expect(run.errors.contains(try await Secure.pin(name)), "\(name)")
        }
        #expect(run.errors.split(separator: try await Secure.pin("stranger")).count == 2, "only as the wanted pin")
    }

    @Test func oneGoodPinIsEnough() async throws {
        let target = "https://127.0.0.1:\(try await Secure.port("chain"))/"
        let pins = "\(try await Secure.pin("stranger"));\(try await Secure.pin("root"))"
        let run = try await client([target, "--cacert", try await Secure.file("root.pem"), "--pin", pins])
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test func theChainIsShownInOrder() async throws {
        let run = try await fetch("--show-certificates")
        #expect(run.status == 0)
        #expect(shown(run) == (try await wanted("leaf", "intermediate", "root")))
        #expect(run.errors.lines.count { $0 == "Certificates of 127.0.0.1 (validated):" } == 1)
    }

    @Test func theChainOfAServerWithOtherPinsIsShown() async throws {
        let run = try await fetch("--show-certificates", pins: "stranger")
        #expect(run.status == 90)
        #expect(shown(run) == (try await wanted("leaf", "intermediate", "root")))
    }

    @Test func withoutTrustTheCertificatesAreShownAsSent() async throws {
        let run = try await fetch("--show-certificates", trusting: nil)
        #expect(run.status == 60)
        #expect(shown(run) == (try await wanted("leaf", "intermediate", "stranger")))
    }

    /// There is no chain then, and only the leaf's key is known to be the server's.
    @Test(arguments: [("leaf", 0), ("intermediate", 90), ("root", 90), ("stranger", 90)] as [(String, Int32)])
    func withoutVerificationOnlyTheLeafCanBePinned(_ name: String, _ status: Int32) async throws {
        let run = try await fetch("--insecure", trusting: nil, pins: name)
        #expect(run.status == status, "\(run.errors)")
    }

    @Test func aChainMayEndWithATrustedIntermediate() async throws {
        let pinned = try await fetch("--report", "json", trusting: "intermediate", pins: "root")
        #expect(pinned.status == 90)
        #expect(pinned.report["error"]["kind"] == "pin_mismatch")

        let run = try await fetch("--show-certificates", trusting: "intermediate")
        #expect(run.status == 0)
        #expect(shown(run) == (try await wanted("leaf", "intermediate")))
    }
}
