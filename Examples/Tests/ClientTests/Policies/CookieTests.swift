import Foundation
import Testing

/// `--cookie-jar`. `/cookies` sets the cookie `kept`, which is for an hour and for this path, and the cookie `session`.
@Suite(.timeLimit(.minutes(60))) struct CookieTests {
    private static func sent(_ run: Run) -> [String] { run.lines.starting(with: "Cookie") }

    @Test func aJarKeepsCookiesForTheNextRequest() async throws {
        let folder = try TemporaryFolder()
        let first = try await client(["\(url)/cookies", "--cookie-jar", folder["jar"]])
        #expect(first.status == 0)
        #expect(Self.sent(first) == [])
        let second = try await client(["\(url)/cookies/more", "--cookie-jar", folder["jar"]])
        #expect(Self.sent(second) == ["Cookie: kept=2; session=1"])
    }

    @Test func aJarHasAnExpiryOnlyForCookiesThatExpire() async throws {
        let folder = try TemporaryFolder()
        _ = try await client(["\(url)/cookies", "--cookie-jar", folder["jar"]])
        let cookies = try folder.text(of: "jar").lines.filter { !$0.hasPrefix("# ") }
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false) }.filter { $0.count > 5 }
            .sorted { $0[5] < $1[5] }
        #expect(cookies.map { $0[5] } == ["kept", "session"])
        #expect(cookies.map { (Int($0[4]) ?? -1) > 0 } == [true, false])
        #expect(cookies.last?[4] == "0")
    }

    @Test(.enabled(if: Programs.has("curl"))) func curlReadsAJar() async throws {
        let folder = try TemporaryFolder()
        _ = try await client(["\(url)/cookies", "--cookie-jar", folder["jar"]])
        let curl = try await tool("curl", ["-s", "-b", folder["jar"], "\(url)/cookies/x"])
        #expect(Self.sent(curl) == ["Cookie: kept=2; session=1"])
    }

    @Test func aJarWrittenByHandIsRead() async throws {
        let folder = try TemporaryFolder()
        let cookie = "127.0.0.1\tFALSE\t/\tFALSE\t0\tby-hand\tyes\n"
        try folder.write("# Netscape HTTP Cookie File\n\(cookie)", to: "jar")
        let run = try await client(["\(url)/request", "--cookie-jar", folder["jar"]])
        #expect(Self.sent(run) == ["Cookie: by-hand=yes"])
    }

    /// Without a file, the cookies last from one hop to the next, if they are asked for.
    @Test func cookiesMayLastForARun() async throws {
        for options in [["-b", ""], ["-b", "/dev/null"], ["-c", "/dev/null"], ["-c", "/dev/null", "-b", ""]] {
            let run = try await client(["\(url)/login"] + options)
            #expect(Self.sent(run) == ["Cookie: a=1"] && run.status == 0, "\(options): \(run.errors)")
        }
        #expect(Self.sent(try await client(["\(url)/login"])) == [])
    }

    // MARK: A jar that is a folder, and so cannot be written

    @Test func theResponseIsReportedWithAFailureToKeepCookies() async throws {
        let jar = try TemporaryFolder()
        let run = try await report(["\(url)/cookies", "--cookie-jar", jar.path], status: 1)
        #expect(run.report.values("error.kind", "status") == ["file", 200])
        #expect(run.report["body"]["bytes"].double > 0)
    }

    @Test func theEventsAreReportedWithAFailureToKeepCookies() async throws {
        let jar = try TemporaryFolder()
        let run = try await report(
            ["\(url)/events", "--stream", "sse", "--limit", "2", "--cookie-jar", jar.path], status: 1)
        #expect(run.report["error"]["kind"] == "file")
        #expect(run.report["items"].elements.count == 2)
    }

    @Test func aWorseFailureIsReportedInsteadOfOneToKeepCookies() async throws {
        let jar = try TemporaryFolder()
        let run = try await report(["\(url)/nowhere", "--validate", "--cookie-jar", jar.path], status: 1)
        #expect(run.report["error"]["kind"] == "unacceptable_status")
    }

    @Test func aDownloadIsReportedWithAFailureToKeepCookiesInOneLine() async throws {
        let jar = try TemporaryFolder(), folder = try TemporaryFolder()
        let run = try await report(["\(url)/", "-o", folder["a"], "--cookie-jar", jar.path], status: 1)
        #expect(run.report.values("error.kind", "body.bytes") == ["file", 11])
        #expect(run.messages.count { $0 != "" } == 1)
        #expect(run.errors.lines(with: "cookie file").count == 1)
    }
}
