import CurlEngine
import Foundation
import TestSupport
import Testing

@testable import TrellisCore
@testable import TrellisUpgrades

/// The file of an HSTS store: what is in it and when, other processes, and errors.
@Suite(.timeLimit(.minutes(3)))
struct HSTSFileTests {
    private let folder: TemporaryFolder
    private let clock = WallClock()

    init() throws { folder = try TemporaryFolder() }

    private var path: String { folder.path("hsts.txt") }

    private func store() -> HSTSStore { HSTSStore(file: path) { [clock] in clock.now } }

    private var lines: [String] {
        String(decoding: folder.content("hsts.txt") ?? Data(), as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { !$0.hasPrefix("#") }
    }

    private func write(_ text: String) throws { try folder.write(Data(text.utf8), to: "hsts.txt") }

    @Test func hostsAreKeptInTheFile() async throws {
        let store = store()
        #expect(await store.hosts.isEmpty)
        #expect(folder.names.isEmpty)
        try store.receive("max-age=60; includeSubDomains", from: "https://a.example/")
        try store.receive("max-age=70", from: "https://b.example/")
        try await store.flush()
        #expect(lines == [".a.example \"20231114 22:14:20\"", "b.example \"20231114 22:14:30\""])
        #expect(try folder.permissions("hsts.txt") == 0o600)
        #expect(await self.store().contains("c.a.example"))
        // Hosts that have expired are removed with the next change.
        clock.move(by: 60)
        try store.receive("max-age=0", from: "https://b.example/")
        try store.receive("max-age=60", from: "https://c.example/")
        try await store.flush()
        #expect(lines == ["c.example \"20231114 22:15:20\""])
        #expect(store.failure == nil)
    }

    @Test func changesOfOthersAreKept() async throws {
        let (one, two) = (store(), store())
        await one.load()
        await two.load()
        try one.receive("max-age=60", from: "https://a.example/")
        try await one.flush()
        try two.receive("max-age=60", from: "https://b.example/")
        try await two.flush()
        #expect(lines.count == 2)
        #expect(await two.hosts.map(\.name) == ["a.example", "b.example"])
        await one.removeAll()
        try await one.flush()
        #expect(lines.isEmpty)
    }

    /// A date that moves with each response is not written each time, but not lost either.
    @Test func aDateThatMovesIsNotWrittenEachTime() async throws {
        let store = store()
        await store.load()
        try store.receive("max-age=1000", from: "https://a.example/")
        try await store.flush()
        let written = lines
        clock.move(by: 99)
        try store.receive("max-age=1000", from: "https://a.example/")
        #expect(!store.isSaving)
        clock.move(by: 2)
        try store.receive("max-age=1000", from: "https://a.example/")
        // The write may be over before this looks.
        while lines == written, !Task.isCancelled { await Task.yield() }
        try await store.flush()
        clock.move(by: 5)
        try store.receive("max-age=1000", from: "https://a.example/")
        try await store.flush()
        #expect(lines == ["a.example \"20231114 22:31:46\""])
    }

    @Test(arguments: ["key=value\n", "{}", "a.example 20300101 00:00:00\nsomething else\n"])
    func aFileOfAnotherKindStays(_ text: String) async throws {
        try write(text)
        let store = store()
        try await change(store, expecting: "it is not an HSTS file, and stays as it is")
        #expect(folder.content("hsts.txt") == Data(text.utf8))
        #expect(await store.contains("a.example"))
    }

    /// One line shows what the file is. What cannot be read is dropped with the next change, as by curl.
    @Test func linesThatCannotBeReadAreDropped() async throws {
        try write("something else\nb.example \"20300101 00:00:00\"\n")
        let store = store()
        #expect(await store.contains("b.example"))
        try store.receive("max-age=60", from: "https://a.example/")
        try await store.flush()
        #expect(lines == ["a.example \"20231114 22:14:20\"", "b.example \"20300101 00:00:00\""])
    }

    @Test func aPathThatNamesNoFile() async throws {
        for path in [folder.path, folder.path("missing/hsts.txt"), "", "a\0b"] {
            let store = HSTSStore(file: path)
            try store.receive("max-age=60", from: "https://a.example/")
            await #expect(throws: FileFailure.self) { try await store.flush() }
            #expect(store.failure != nil)
            #expect(await store.contains("a.example"))
        }
        #expect(folder.names.isEmpty)
    }

    /// A write that fails is made up for with the next one.
    @Test func aFailureIsNotTheEnd() async throws {
        try write("other\n")
        let store = store()
        try await change(store, expecting: "it is not an HSTS file, and stays as it is")
        try write("")
        try store.receive("max-age=60", from: "https://b.example/")
        try await store.flush()
        #expect(lines.map { $0.prefix(9) } == ["a.example", "b.example"])
        #expect(store.failure == nil)
    }

    private func change(_ store: HSTSStore, expecting reason: String) async throws {
        await store.load()
        try store.receive("max-age=60", from: "https://a.example/")
        await #expect(throws: FileFailure(path: path, reason: reason)) { try await store.flush() }
    }

    @Test func aLinkStaysALink() async throws {
        try folder.write(Data(), to: "target")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "target")
        let store = store()
        try store.receive("max-age=60", from: "https://a.example/")
        try await store.flush()
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == "target")
        #expect(lines.count == 1)
    }

    /// curl understands the file, and the store understands curl's.
    @Test(.enabled(if: Shell.hasCURL)) func curlUsesTheSameFile() async throws {
        let store = HSTSStore(file: path)
        try store.receive("max-age=86400; includeSubDomains", from: "https://a.example/")
        await store.insert(try #require(HSTSHost(name: "b.example")))
        try await store.flush()
        let before = await HSTSStore(file: path).hosts
        #expect(before.map(\.name) == ["a.example", "b.example"])
        // The port of the own machine is closed: curl asks for https, and sends nothing. It replaces the file at its end.
        let output = await Shell.output(
            of: "env -u LD_LIBRARY_PATH curl -s --hsts '\(path)' -w '%{url_effective}' --connect-to ::127.0.0.1:9 "
                + "http://x.a.example/p 2>/dev/null")
        #expect(String(decoding: output, as: UTF8.self) == "https://x.a.example/p")
        let text = try #require(folder.content("hsts.txt"))
        #expect(String(decoding: text, as: UTF8.self).contains("generated by libcurl"))
        #expect(await HSTSStore(file: path).hosts == before)
    }
}
