import Foundation
import Testing

/// What is shown of the wire: `--verbose`, `--dump-header`, `--write-out`, `--timing` and `--repeat`.
@Suite(.timeLimit(.minutes(60))) struct WireTests {
    @Test func theHeadsOfEachHopAreShown() async throws {
        let run = try await client(["-v", "\(url)/redirect/1", "-u", "ada:s3cret", "-H", "X-A: 1"])
        #expect(run.status == 0 && run.lines.first == "GET /request")
        let lines = run.errors.lines
        #expect(
            lines.starting(with: "> GET") == ["> GET /redirect/1 HTTP/1.1", "> GET /request HTTP/1.1"], "\(run.errors)")
        #expect(lines.starting(with: "> Host") == Array(repeating: "> Host: \(url.dropFirst(7))", count: 2))
        #expect(lines.starting(with: "> X-A") == ["> X-A: 1", "> X-A: 1"])
        #expect(
            lines.starting(with: "> Authorization") == Array(repeating: "> Authorization: Basic REDACTED", count: 2))
        #expect(lines.starting(with: "< HTTP") == ["< HTTP/1.1 302 Status", "< HTTP/1.1 200 OK"])
        #expect(lines.starting(with: "* Redirected to ") == ["* Redirected to \(url)/request"])
        #expect(!run.errors.contains("s3cret") && !run.errors.contains("YWRhOnMzY3JldA"))
    }

    @Test func secretsAreHidden() async throws {
        let arguments = [
            "-v", "\(url)/cookies?token=s3cret&q=1", "-b", "a=s3cret", "-H", "X-Api-Key: s3cret", "-H",
            "X-A: it's \"1\"",
        ]
        let run = try await client(arguments)
        #expect(run.status == 0 && !run.errors.contains("s3cret"), "\(run.errors)")
        for line in [
            "> GET /cookies?token=REDACTED&q=1 HTTP/1.1", "> Cookie: REDACTED", "> X-Api-Key: REDACTED",
            "> X-A: it's \"1\"",
        ] { #expect(run.errors.lines.contains(line), "no \(line) in \(run.errors)") }
        #expect(run.errors.lines.starting(with: "< Set-Cookie").allSatisfy { $0 == "< Set-Cookie: REDACTED" })
        let shown = try await client(arguments + ["--show-secrets"])
        #expect(shown.errors.lines.contains("> Cookie: a=s3cret"), "\(shown.errors)")
    }

    /// What a request has that has failed is shown too.
    @Test func aFailureIsShownAfterItsConnection() async throws {
        let run = try await client(["-v", "http://127.0.0.1:1/"])
        #expect(run.status == 7 && run.errors.lines.first == "* Connecting to 127.0.0.1:1", "\(run.errors)")
    }

    @Test func theCertificateOfTheServerAndTheResultOfTheHandshakeAreShown() async throws {
        let arguments = [
            "-v", "https://localhost:\(try await Secure.port("strict"))/", "--cacert",
            try await Secure.file("strict.pem"), "-4",
        ]
        let lines = try await client(arguments).errors.lines
        #expect(lines.contains { $0.contains(#/^\* connected to .* over HTTP\/1\.1, TLS in /#) }, "\(lines)")
        let certificate = #/^\* Certificate: .*CN=.*, issued by .*, valid until 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/#
        #expect(lines.count { $0.contains(certificate) } == 1, "\(lines)")
        #expect(lines.count { $0.contains(#/^\* TLS 1\.3 with TLS_[A-Z0-9_]+$/#) } == 1, "\(lines)")
    }

    @Test func theShownHeadIsTheOneThatIsSent() async throws {
        let run = try await client(["-v", "\(url)/request", "-d", "a=1"])
        let shown = run.errors.lines.filter { $0.hasPrefix("> ") && $0.contains(": ") }.map { String($0.dropFirst(2)) }
        let sent = run.lines.dropFirst().filter {
            $0.contains(": ") && !$0.hasPrefix("body") && !$0.hasPrefix("Content-Length")
        }
        #expect(Set(shown) == Set(sent))
    }

    @Test func headsAreDumped() async throws {
        let folder = try TemporaryFolder()
        let run = try await client(["\(url)/redirect/1", "-D", "heads", "-s"], in: folder)
        #expect(run.lines.first == "GET /request")
        let heads = try folder.text(of: "heads")
        #expect(
            heads.components(separatedBy: "\r\n").filter { $0.hasPrefix("HTTP/") } == [
                "HTTP/1.1 302 Status", "HTTP/1.1 200 OK",
            ])
        #expect(heads.hasSuffix("\r\n\r\n"))
        _ = try await client(["\(url)/events/2", "--stream", "sse", "--limit", "1", "-D", "events"], in: folder)
        #expect(try folder.text(of: "events").hasPrefix("HTTP/1.1 200 OK\r\n"))
        let failed = try await client(["\(url)/", "-D", "no/such/file"], in: folder)
        #expect(failed.status == 23 && failed.text == "")
    }

    @Test func theTextOfTheEnd() async throws {
        let format =
            #"\n%{http_code} %{num_redirects} %{size_download} %{content_type} %header{content-length} %{nope}%%\n"#
        let run = try await client(["\(url)/redirect/2", "-w", format, "-o", "/dev/null"])
        #expect(run.text.contains(#/^\n200 2 (\d+) text\/plain; charset=utf-8 \1 %\n$/#), "\(run.text)")
        let place = try await client([
            "\(url)/redirect/1", "--no-redirects", "-w", "%{redirect_url}", "-o", "/dev/null",
        ])
        #expect(place.text == "\(url)/request", "an absolute URL")
        let failed = try await client(["http://127.0.0.1:1/", "-s", "-w", "%{http_code} %{exitcode}%{stderr}x"])
        #expect(failed.text == "000 7" && failed.errors == "x" && failed.status == 7)
    }

    @Test func theTimesAreBars() async throws {
        let run = try await client(["\(url)/", "--timing"])
        let names = run.errors.lines.compactMap { $0.split(separator: " ").first.map(String.init) }
        // A busy machine shows the time before the request, too.
        #expect(
            names.filter { $0 != "before" } == ["queue", "name", "connect", "TLS", "wait", "body", "total"],
            "\(run.errors)")
        let redirected = try await client(["\(url)/redirect/2", "--timing"])
        #expect(redirected.errors.lines.last?.hasPrefix("total ") == true, "\(redirected.errors)")
    }

    @Test func aRequestIsRepeated() async throws {
        let run = try await client(["\(url)/", "--repeat", "20", "--concurrency", "4"])
        #expect(run.status == 0 && run.lines.first?.contains(#/^20 requests in .*: 20 × 200$/#) == true, "\(run.text)")
        #expect(run.lines.contains { $0.contains(#/^min .*, p50 .*, p90 .*, p95 .*, p99 .*, max /#) }, "\(run.text)")
        let failed = try await client(["http://127.0.0.1:1/", "--repeat", "3"])
        #expect(failed.status == 7 && failed.lines.first?.hasSuffix(": 3 failed") == true)
    }

    @Test func silenceIsKept() async throws {
        let silent = try await client(["-s", "http://127.0.0.1:1/"])
        #expect(silent.status == 7 && silent.errors == "")
        #expect(try await client(["-sS", "http://127.0.0.1:1/"]).errors != "")
    }

    @Test func aStatusMayBeAFailure() async throws {
        let plain = try await client(["-f", "\(url)/nope"])
        #expect(plain.status == 22 && plain.text == "")
        let shown = try await client(["--fail-with-body", "\(url)/nope"])
        #expect(shown.status == 22 && shown.text == "nothing here\n")
        #expect(try await client(["-f", "--no-redirects", "\(url)/redirect/1"]).status == 0)
    }

    @Test func thePageOfAFailureIsInTheFileThatWasNamed() async throws {
        let folder = try TemporaryFolder()
        let shown = try await client(["--fail-with-body", "\(url)/nope", "-o", "page"], in: folder)
        #expect(shown.status == 22 && shown.errors.lines(with: "404").count == 1, "\(shown.errors)")
        #expect(try folder.text(of: "page") == "nothing here\n")
        #expect(try await client(["-f", "\(url)/nope", "-o", "other"], in: folder).status == 22)
        #expect(try folder.names() == ["page"])
    }

    @Test func noPageOfAnErrorIsKeptInAFolder() async throws {
        let folder = try TemporaryFolder()
        let run = try await client(["\(url)/bytes/10", "\(url)/nope", "-o", "./"], in: folder)
        #expect(run.status == 22, "\(run.errors)")
        #expect(try folder.names() == ["10"])
    }

    @Test func aLimitNamesItsOption() async throws {
        let run = try await client(["\(url)/silence", "--idle-timeout", "0.2"])
        #expect(run.status == 28 && run.errors.lines.last?.hasSuffix("(--idle-timeout)") == true, "\(run.errors)")
    }
}
