import Testing

/// The files of hosts that ask for https (HSTS) and of alternative services.
@Suite(.timeLimit(.minutes(60))) struct HSTSTests {
    @Test func nothingIsLearnedWithoutVerification() async throws {
        let folder = try TemporaryFolder(), host = "localhost:\(try await Secure.port("strict"))"
        let run = try await client(
            ["-4", "--insecure", "--hsts", "hsts.txt", "--alt-svc", "alt-svc.txt", "https://\(host)/"], in: folder)
        #expect(run.text == "secure" && run.status == 0)
        #expect(try folder.names() == [])
    }

    @Test func theNextClientAsksAKnownHostForHTTPS() async throws {
        let folder = try TemporaryFolder(), host = "localhost:\(try await Secure.port("strict"))"
        let options = [
            "-4", "--cacert", try await Secure.file("strict.pem"), "--hsts", "hsts.txt", "--alt-svc", "alt-svc.txt",
        ]
        let first = try await client(options + ["https://\(host)/"], in: folder)
        #expect(first.text == "secure" && first.status == 0)
        #expect(try folder.text(of: "hsts.txt").lines.starting(with: ".localhost \"2").count == 1)
        let services = try folder.text(of: "alt-svc.txt").lines
        #expect(services.count { $0.contains(/^h1 localhost .* h2 alt\.example 8443 ".*" 1 0$/) } == 1)

        let next = try await report(options + ["http://\(host)/x"], in: folder)
        #expect(next.report.values("url", "redirects") == [.string("https://\(host)/x"), []])
    }

    @Test(arguments: ["--hsts", "--alt-svc"])
    func aFileOfAnotherKindStays(_ option: String) async throws {
        let folder = try TemporaryFolder(), port = try await Secure.port("strict")
        let file = try folder.write("something else\n", to: "other.txt")
        let certificate = try await Secure.file("strict.pem")
        let run = try await report(
            ["-4", "--cacert", certificate, option, file, "https://localhost:\(port)/"], status: 1)
        #expect(run.report["error"]["kind"] == "file")
        #expect(try folder.text(of: "other.txt") == "something else\n")
    }
}
