import Foundation
import Testing

/// The response's head on the output, and warnings.
@Suite(.timeLimit(.minutes(60))) struct HeadTests {
    @Test(arguments: ["-i", "--include"])
    func theHeadComesBeforeTheBody(_ option: String) async throws {
        let run = try await client([option, "\(url)/"])
        #expect(run.status == 0)
        #expect(run.lines.first?.hasPrefix("HTTP/1.1 200") == true)
        #expect(run.lines.filter { $0 == "Content-Length: 11\r" }.count == 1)
        #expect(run.lines.suffix(2) == ["\r", "hello world"])
    }

    @Test func theHeadHasEveryField() async throws {
        let run = try await client(["-i", "\(url)/repeated"])
        #expect(
            run.lines.starting(with: "X-", "Set-") == [
                "X-One: 1\r", "Set-Cookie: a=1\r", "X-Two: 2\r", "Set-Cookie: b=2\r",
            ])
    }

    @Test(arguments: ["-I", "--head"])
    func theHeadAlone(_ option: String) async throws {
        let run = try await client([option, "\(url)/"])
        #expect(run.status == 0)
        #expect(run.text.hasPrefix("HTTP/1.1 200"))
        #expect(run.lines.last == "\r")
    }

    @Test(arguments: ["-i", "-I"]) func theHeadOfEachHopIsThere(_ option: String) async throws {
        let run = try await client([option, "-L", "\(url)/redirect/2"])
        #expect(
            run.lines.starting(with: "HTTP/", "Location") == [
                "HTTP/1.1 302 Status\r", "Location: ../redirect/1\r", "HTTP/1.1 302 Status\r", "Location: /request\r",
                "HTTP/1.1 200 OK\r",
            ])
        let refused = try await client([option, "--max-redirs", "1", "\(url)/redirect/2"])
        #expect(refused.status == 47, "\(refused.errors)")
        #expect(
            refused.lines.starting(with: "Location", "HTTP/1.1 200") == [
                "Location: ../redirect/1\r", "Location: /request\r",
            ])
        let hints = try await client([option, "\(url)/hints"])
        #expect(hints.lines.starting(with: "HTTP/") == ["HTTP/1.1 103 Early Hints\r", "HTTP/1.1 200 OK\r"])
    }

    @Test(arguments: [
        ["-I", "-X", "PUT"], ["-I", "-d", "a"], ["-i", "-o", "with-head"], ["-i", "--report", "json"],
        ["-i", "--stream", "sse"],
    ])
    func theHeadGoesWithoutOtherOptions(_ options: [String]) async throws {
        try await expectUsageError(["\(url)/"] + options)
    }

    @Test func theHeadAloneGoesWithoutAMethod() async throws { try await expectUsageError(["PUT", "\(url)/", "-I"]) }

    @Test func credentialsWithoutAColonAreAWarning() async throws {
        let run = try await client(["\(url)/", "--user", "foo"])
        #expect(run.text == "hello world")
        #expect(run.status == 0)
        #expect(run.errors.lines(with: "--user has no colon").count == 1)
    }

    @Test func noWarningWithoutAReason() async throws {
        let run = try await client(["\(url)/", "--user", "foo:", "-H", "X-Content-Length: 1"])
        #expect(run.text == "hello world")
        #expect(run.status == 0)
        #expect(run.errors == "")
    }

    @Test func fieldsThatAreIgnoredAreWarnings() async throws {
        let run = try await client(["\(url)/", "-H", "content-length: 5", "-H", "Transfer-Encoding: chunked"])
        #expect(run.text == "hello world")
        #expect(run.status == 0)
        #expect(run.errors.lines(with: "Content-Length of -H is ignored").count == 1)
        #expect(run.errors.lines(with: "Transfer-Encoding of -H is ignored").count == 1)
    }

    @Test func aCacheThatCannotBeUsedIsAWarning() async throws {
        let file = try TemporaryFolder().write("", to: "no-folder")
        for place in ["/proc/x", file, "\(file)/below"] {
            let run = try await client(["\(url)/", "--cache", place])
            #expect(run.text == "hello world")
            #expect(run.status == 0)
            #expect(run.errors.lines.count == 1)
            #expect(run.errors.contains("the cache in \(place) cannot be used: "))
        }
    }

    @Test func theFoldersOfACacheAreMade() async throws {
        let folder = try TemporaryFolder()
        let run = try await client(["\(url)/", "--cache", folder["a-cache/of/its/own"]])
        #expect(run.text == "hello world")
        #expect(run.status == 0)
        #expect(run.errors == "")
    }
}
