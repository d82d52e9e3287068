import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// A file of cookies that cannot be used is told to observers, once until the file works again.
@Suite(.timeLimit(.minutes(3)))
struct CookieFileEventTests {
    private let folder: TemporaryFolder
    private let lines = Locked<[String]>([])
    private let session: Session
    private let cookies: CookieFile

    init() throws {
        folder = try TemporaryFolder()
        cookies = CookieFile(path: folder.path("missing") + "/cookies.txt")
        var configuration = SessionConfiguration()
        configuration.steps.cookies = cookies
        configuration.eventMonitors = [RequestLog { [lines] line in lines.withLock { $0.append(line) } }]
        let transport = MockTransport { request in
            request.url.hasSuffix("/set") ? MockResponse(headers: [.setCookie: "a=1"]) : .text("")
        }
        session = Session(configuration: configuration, transport: transport, clock: TestClock())
    }

    @Test func noLimitIsALimitOfAFileThatFails() async throws {
        let cookies = CookieFile(path: folder.path("none") + "/cookies.txt", limits: CookieLimits(total: .max))
        await cookies.store(["a=1"], from: "http://a.example/")
        #expect(await cookies.failure != nil)
        #expect(await cookies.all.map(\.name) == ["a"])
    }

    /// Sends requests, and returns the lines of the log about the file, after all lines of the requests were written.
    private func failures(_ paths: [String]) async throws -> [String] {
        for path in paths { _ = try await session.data("http://a.example/\(path)") }
        while lines.withLock({ $0.count { $0.contains(" 200 ") } }) < paths.count {
            try Task.checkCancellation()
            await Task.yield()
        }
        return lines.withLock { lines in
            defer { lines = [] }
            return lines.filter { $0.contains("cookies failed") }
        }
    }

    @Test func theFirstOfSeveralFailuresIsTold() async throws {
        let first = try await failures(["none", "set", "set", "none"])
        #expect(first.count == 1)
        let line = try #require(first.first)
        let failure = try #require(await cookies.failure)
        #expect(line.hasPrefix("GET http://a.example/set cookies failed 0 ms (call "))
        #expect(line.hasSuffix(": \(failure)"), "\(line)")
        let missing = folder.url.appending(path: "missing")
        try FileManager.default.createDirectory(at: missing, withIntermediateDirectories: true)
        #expect(try await failures(["set", "none"]) == [])
        #expect(await cookies.failure == nil)
        try FileManager.default.removeItem(at: missing)
        #expect(try await failures(["set", "set"]).count == 1)
    }

    /// A failure that no observer was told is told to the first one.
    @Test func aFailureWaitsForAnObserver() async throws {
        await cookies.store(["a=1"], from: "http://a.example/")
        #expect(await cookies.failure != nil)
        #expect(try await failures(["none", "none"]).count == 1)
    }
}
