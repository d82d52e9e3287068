import Testing

/// `--from-curl` and `--swift`.
@Suite(.timeLimit(.minutes(60))) struct SwiftCodeTests {
    @Test func aCopiedCommandIsSent() async throws {
        let run = try await client(["--from-curl", "curl '\(url)/request' -H 'X-A: 1' --data-raw 'a=1' --compressed"])
        #expect(run.lines.starting(with: "POST", "X-A") == ["POST /request", "X-A: 1"], "\(run.errors)")
    }

    @Test func aCopiedCommandBecomesSwift() async throws {
        let command =
            #"curl 'https://api.example.com/users' -X PUT -H 'X-A: "1"' -u ada:s3cret --json '{"name": "Ann"}' -m 5"#
        let run = try await client(["--from-curl", command, "--swift"])
        let wanted = ##"""
            import Trellis

            let session = Session()
            var request = Request("https://api.example.com/users", method: .put)
            request = request.withHeader("X-A", #""1""#)
            request = request.withHeader("Accept", "application/json, */*;q=0.5")
            request = request.withAuthorization(username: "ada", password: "REDACTED")
            request.body = .string(#"{"name": "Ann"}"#, contentType: "application/json")
            let (data, response) = try await session.data(request, timeout: .seconds(5.0))
            print(response.status, String(decoding: data, as: UTF8.self))

            """##
        #expect(run.text == wanted && run.status == 0, "\(run.text) \(run.errors)")
    }

    @Test(arguments: [
        ["-H", "X-Api-Key: s3cret"], ["-b", "a=s3cret"], ["-H", "Authorization: Bearer s3cret"],
        ["-d", "password=s3cret"],
        ["-F", "password=s3cret"], ["--json", #"{"token": "s3cret"}"#], ["--query", "token=s3cret"],
        ["-e", "http://h/?token=s3cret"],
    ])
    func secretsAreLeftOut(_ options: [String]) async throws {
        let arguments = ["--swift", "http://ada:s3cret@h/x?token=s3cret&q=1"] + options
        let run = try await client(arguments)
        #expect(
            run.status == 0 && !run.text.contains("s3cret") && run.text.contains("REDACTED"),
            "\(run.text) \(run.errors)")
        #expect(run.text.contains("q=1") && run.text.contains(#"withHeader("Authorization""#))
        #expect(try await client(arguments + ["--show-secrets"]).text.contains("s3cret"))
    }

    @Test func aPathAndAVersionBecomeSwift() async throws {
        let run = try await client(["--swift", "--path-as-is", "--http2-prior-knowledge", "https://h/a/../b"])
        for line in ["configuration.httpVersion = .http2", "request.sendsURLUnchanged = true"] {
            #expect(run.lines.contains(line), "no \(line) in \(run.text)")
        }
    }

    @Test func cookiesThatArePrintedAreInMemory() async throws {
        let run = try await client(["--swift", "h/", "-c", "-"])
        #expect(run.lines.contains("configuration.cookies = CookieJar()"), "\(run.text)")
    }

    @Test func theSettingsOfASessionBecomeSwift() async throws {
        let folder = try TemporaryFolder()
        try folder.write("", to: "x")
        let arguments = [
            "--swift", "-k", "--retry", "2", "-x", "http://p:1", "--http1.1", "-F", "a=b", "-F", "f=@x", "h/", "-o",
            "file",
        ]
        let run = try await client(arguments, in: folder)
        #expect(run.status == 0, "\(run.errors)")
        for line in [
            "configuration.retry = RetryPolicy(retryLimit: 2)", "configuration.tls = .insecureWithoutAnyVerification()",
            #"configuration.proxy = .always(try Proxy("http://p:1"))"#, "configuration.httpVersion = .http1Only",
            #"form.append(.string("b", contentType: nil), withName: "a")"#, #"form.append(.file("x"), withName: "f")"#,
            #"let file = try await session.downloadRequest(request, to: .file("file")).value"#,
        ] { #expect(run.lines.contains(line), "no \(line) in \(run.text)") }
    }
}
