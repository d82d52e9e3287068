import CurlEngine
import Foundation
import TestSupport
import Testing

@testable import TrellisCore

/// A cookie jar in a file: its content, changes by other processes, and errors.
@Suite(.timeLimit(.minutes(3)))
struct CookieFileTests: ~Copyable {
    private let folder: String
    private var path: String { folder + "/cookies.txt" }
    private let url = "https://example.com/"
    private let clock = WallClock()

    init() throws {
        folder = NSTemporaryDirectory() + "/trellis-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func jar() -> CookieFile { CookieFile(path: path) { [clock] in clock.now } }

    private func sent(_ jar: CookieFile) async -> String? { Cookie.field(await jar.cookies(for: url)) }

    private func write(_ lines: [String]) throws {
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: path))
    }

    private var lines: [String] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
        return text.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("# ") }
    }

    @Test func whatIsStoredIsInTheFile() async {
        let jar = jar()
        #expect(await sent(jar) == nil)
        #expect(!FileManager.default.fileExists(atPath: path))
        await jar.store(["a=1", "b=2; Max-Age=60; Secure; HttpOnly; Domain=example.com"], from: url)
        #expect(
            lines == [
                "example.com\tFALSE\t/\tFALSE\t0\ta\t1",
                "#HttpOnly_.example.com\tTRUE\t/\tTRUE\t1700000060\tb\t2",
            ])
        #expect(await sent(self.jar()) == "a=1; b=2")
        #expect(await jar.failure == nil)
        // Expired cookies are removed with the next change.
        clock.move(by: 60)
        await jar.store(["c=3"], from: url)
        #expect(lines.map { $0.suffix(3) } == ["a\t1", "c\t3"])
    }

    @Test func aFileMayBeNamedByItsURL() async {
        let jar = CookieFile(path: URL(filePath: path))
        #expect(jar.path.hasPrefix("/") && jar.path.hasSuffix("/cookies.txt"))
        await jar.store(["a=1"], from: url)
        #expect(await sent(self.jar()) == "a=1")
    }

    @Test func nobodyElseCanReadANewFile() async throws {
        await jar().store(["a=1"], from: url)
        func mode() throws -> Int {
            try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
        }
        #expect(try mode() == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        await jar().store(["a=2"], from: url)
        #expect(try mode() == 0o640)
    }

    @Test func changesOfOthersAreSeenAndKept() async throws {
        let (one, two) = (jar(), jar())
        await one.store(["a=1"], from: url)
        await two.store(["b=2"], from: url)
        #expect(await sent(one) == "a=1; b=2")
        await one.store(["a=; Max-Age=0"], from: url)
        #expect(await sent(two) == "b=2")
        try write(["example.com\tFALSE\t/\tFALSE\t0\tother\ttool"])
        #expect(await sent(one) == "other=tool")
        await two.store(["b=3"], from: url)
        #expect(await sent(one) == "other=tool; b=3")
        try FileManager.default.removeItem(atPath: path)
        #expect(await sent(one) == nil)
    }

    @Test func manyJarsOnOneFileLoseNothing() async {
        let path = path
        await withTaskGroup(of: Void.self) { group in
            for jar in 0..<8 {
                group.addTask {
                    let file = CookieFile(path: path)
                    for number in 0..<10 {
                        await file.store(["j\(jar)n\(number)=v"], from: "https://h\(jar).example.com/")
                    }
                    if let failure = await file.failure { Issue.record(failure) }
                }
            }
        }
        #expect(lines.count == 80)
        #expect(await jar().all.count == 80)
        #expect(!FileManager.default.fileExists(atPath: path + ".new"))
    }

    @Test func manyTasksOnOneJarLoseNothing() async {
        let jar = jar()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<50 { group.addTask { await jar.store(["n\(number)=v"], from: "https://example.com/") } }
        }
        #expect(lines.count == 50)
    }

    /// A program that crashed while it wrote leaves a stale lock file, and an incomplete file beside the complete one; neither
    /// stops a jar.
    @Test func whatACrashLeavesIsNoHindrance() async throws {
        try write(["example.com\tFALSE\t/\tFALSE\t0\ta\t1"])
        try Data("half".utf8).write(to: URL(filePath: path + ".new"))
        try Data().write(to: URL(filePath: path + ".lock"))
        let jar = jar()
        await jar.store(["b=2"], from: url)
        #expect(await jar.failure == nil)
        #expect(lines.map { $0.suffix(3) } == ["a\t1", "b\t2"])
        #expect(!FileManager.default.fileExists(atPath: path + ".new"))
    }

    @Test func theLockIsWaitedFor() async throws {
        let (contents, now) = (CookieFileContents(path: path, limits: CookieLimits()), clock.now)
        let cookie = try #require(Cookie(name: "a", value: "1", domain: "a.test"))
        guard let lock = try FileLock.taken(path: path + ".lock") else {
            Issue.record("someone holds the lock")
            return
        }
        await #expect(throws: FileError.self) {
            try await contents.write([.set(cookie)], isPatient: false, at: now)
        }
        async let written = contents.write([.set(cookie)], isPatient: true, at: now)
        #expect(lines == [])
        _ = consume lock
        #expect(try await written.store.count == 1)
        #expect(lines.count == 1)
    }

    @Test func aSymbolicLinkStaysOne() async throws {
        let target = folder + "/real.txt"
        try Data().write(to: URL(filePath: target))
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        await jar().store(["a=1"], from: url)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == target)
        #expect(lines.count == 1)
    }

    @Test func aFileThatCannotBeUsedFailsNoRequest() async throws {
        let jar = CookieFile(path: folder + "/missing/cookies.txt") { [clock] in clock.now }
        await jar.store(["a=1"], from: url)
        #expect(await sent(jar) == "a=1")
        #expect("\(try #require(await jar.failure))".contains("/missing/cookies.txt cannot be used: No such file"))
        await #expect(throws: FileFailure.self) { try await jar.flush() }
        // All changes are written as soon as the file can be written.
        try FileManager.default.createDirectory(atPath: folder + "/missing", withIntermediateDirectories: true)
        await jar.store(["b=2"], from: url)
        #expect(await jar.failure == nil)
        let other = CookieFile(path: folder + "/missing/cookies.txt")
        #expect(Cookie.field(await other.cookies(for: url)) == "a=1; b=2")
    }

    @Test(arguments: ["FOLDER", "FOLDER/pipe", "FOLDER/a\u{0}b", ""])
    func whatIsNoFileFailsNoRequest(_ name: String) async throws {
        _ = await Shell.output(of: "mkfifo '\(folder)/pipe'")
        let jar = CookieFile(path: name.replacing("FOLDER", with: folder))
        await jar.store(["a=1"], from: url)
        #expect(Cookie.field(await jar.cookies(for: url)) == "a=1")
        #expect(await jar.failure != nil)
        // The jar has written neither to the pipe nor to a file beside it.
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["pipe"])
        for path in [folder + ".lock", ".lock", ".new"] { #expect(!FileManager.default.fileExists(atPath: path)) }
    }

    @Test func rubbishIsReadAsNothing() async throws {
        let rubbish = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        try Data("# HTTP Cookie File\n".utf8 + rubbish).write(to: URL(filePath: path))
        let jar = jar()
        await jar.store(["a=1"], from: url)
        #expect(await sent(jar) == "a=1")
    }

    @Test(arguments: [
        "notes\n", "# notes\nremember the milk\n", "a\tb\tc\td\te\tf\tg\n", "{\"a\": 1}", "\u{0}\u{1}",
        "example.com\tFALSE\t/\tFALSE\t0\ta\t1\nand a line of somebody else's\n",
        "example.com\tFALSE\t/\tFALSE\tnever\ta\t1\n", "example.com\tFALSE\t/\tFALSE\t0\n",
    ])
    func whatIsNoFileOfCookiesIsLeftAsItIs(_ text: String) async throws {
        try Data(text.utf8).write(to: URL(filePath: path))
        let jar = jar()
        await jar.store(["a=2"], from: url)
        #expect(await sent(jar) == "a=2")
        let failure = try #require(await jar.failure)
        #expect(
            "\(failure)" == "\(path) cannot be used: it is not a file of cookies, and stays as it is")
        await #expect(throws: FileFailure.self) { try await jar.flush() }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    @Test(arguments: [
        "", "\n \n\t\n", "# a comment\n", "# Netscape HTTP Cookie File\nnonsense\n", "# HTTP Cookie File\r\nnonsense\n",
        "example.com\tFALSE\t/\tfalse\t0\tb\t1\n", "#HttpOnly_example.com\tFALSE\t/\tFALSE\t0\tb\n",
    ])
    func whatIsOneOrNothingAtAllIsUsed(_ text: String) async throws {
        try Data(text.utf8).write(to: URL(filePath: path))
        let jar = jar()
        await jar.store(["a=2"], from: url)
        #expect(await jar.failure == nil)
        #expect(lines.last?.hasSuffix("a\t2") == true)
    }

    @Test func sessionsEndAndCookiesAreRemoved() async throws {
        let jar = jar()
        await jar.store(["a=1", "b=2; Max-Age=60", "c=3; Max-Age=60"], from: url)
        await jar.removeSessionCookies()
        #expect(lines.count == 2)
        await jar.remove(try #require(Cookie(name: "b", value: "", domain: "example.com")))
        #expect(lines.map { $0.suffix(3) } == ["c\t3"])
        await jar.removeAll()
        #expect(lines == [])
        await jar.insert([try #require(Cookie(name: "d", value: "4", domain: "example.com"))])
        #expect(await sent(self.jar()) == "d=4")
    }

    @Test func whatAFileDoesNotHoldIsKeptInMemory() async throws {
        let jar = jar()
        await jar.store(["a=1; SameSite=Lax", "tab=1\t2"], from: url)
        clock.move(by: 5)
        await self.jar().store(["b=2"], from: url)
        #expect(await sent(jar) == "a=1; b=2; tab=1\t2")
        let cookie = try #require(await jar.all.first)
        #expect(cookie.sameSite == .lax && cookie.created == clock.now - 5)
    }

    /// A cookie expires on time in memory, and no later in the file, which has whole seconds.
    @Test func aCookieEndsWhenItsTimeIsOverAndNoLaterInTheFile() async throws {
        clock.move(by: 0.75)
        let jar = jar()
        await jar.store(["a=1; Max-Age=2; SameSite=Lax"], from: url)
        #expect(lines.first?.contains("\t1700000002\t") == true)
        // The cookie keeps its attributes when it is read back from the file.
        await self.jar().store(["b=2"], from: url)
        #expect(await jar.all.first?.sameSite == .lax)
        clock.move(by: 1.5)
        #expect(await sent(self.jar()) == "b=2")
        #expect(await sent(jar) == "a=1; b=2")
        clock.move(by: 0.5)
        #expect(await sent(jar) == "b=2")
    }

    @Test func nothingNewIsNotWritten() async throws {
        let jar = jar()
        await jar.store(["a=1"], from: url)
        let version = WholeFile.version(path: path)
        await jar.store(["a=1", "refused=1; Domain=com"], from: url)
        _ = await sent(jar)
        #expect(WholeFile.version(path: path) == version)
    }

    /// Files are not read on an engine thread: a task that prefers the executor of a session runs every actor there, the jar
    /// included.
    @Test func filesAreNotReadOnAnEngineThread() async throws {
        let engine = EngineExecutor()
        let jar = jar()
        let url = url
        await Task(executorPreference: engine) {
            #expect(CallingThread.isEngine)
            await jar.store(["a=1"], from: url)
            #expect(CallingThread.isEngine)
        }.value
        #expect(await sent(jar) == "a=1")
        await engine.shutDown()
    }
}
