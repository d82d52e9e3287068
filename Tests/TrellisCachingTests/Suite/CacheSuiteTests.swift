import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// The cases of the public suite of tests for HTTP caches, with calls of a session.
@Suite(.timeLimit(.minutes(3)))
struct CacheSuiteTests {
    @Test(arguments: SuiteTables.runs)
    func aCaseIsFollowedUnlessAReasonIsListed(_ run: SuiteRun) async throws {
        try await check(run, MemoryCacheStorage())
    }

    /// The cases with files: one in ten, and each whose stored responses are updated, combined or chosen by `Vary`. With
    /// `Tests/run.sh --all`, these are all cases. Each of them runs once: a storage does not know how many users its cache has.
    static let runsOnADisk: [SuiteRun] = {
        let files: Set = ["partial", "update-head", "update304", "vary"]
        let once = SuiteTables.runs.filter { $0.sharing == $0.example.sharing.first }
        return once.enumerated().filter { index, run in
            Scale.isFull || index % 10 == 0 || files.contains(run.file)
        }.map(\.element)
    }()

    @Test(arguments: runsOnADisk)
    func theResultsAreTheSameOnADisk(_ run: SuiteRun) async throws {
        // A disk would take most of the time, and none of the cases is about it.
        let folder = try TemporaryFolder(isInMemory: true)
        let storage = DiskCacheStorage(directory: folder.path)
        try await check(run, storage)
        await storage.close()
    }

    private func check(_ run: SuiteRun, _ storage: any CacheStorage) async throws {
        let deviations = try await SuitePlayer(run, storage).deviations()
        let reason = SuiteTables.reason(run)
        let texts = deviations.filter { !$0.isSetup }.map(\.text)
        #expect(deviations.filter(\.isSetup).map(\.text) == [], "the preparation of \(run.name)")
        if let reason {
            #expect(!texts.isEmpty, "\(run.name) is followed, although a reason is listed: \(reason)")
        } else {
            #expect(texts == [], "\(run.name)")
        }
    }

    // MARK: The tables

    @Test(arguments: SuiteTables.files.map(\.name))
    func aTableHasAllCases(_ name: String) throws {
        let file = try #require(SuiteTables.files.first { $0.name == name })
        #expect(file.cases.count == file.count)
    }

    @Test func identifiersAreUnique() {
        let ids = SuiteTables.files.flatMap(\.cases).map(\.id)
        let repeated = Dictionary(grouping: ids) { $0 }.filter { $0.value.count > 1 }.keys
        #expect(repeated.sorted() == [])
    }

    @Test func everyReasonIsThatOfACase() {
        let names = Set(SuiteTables.runs.flatMap { [$0.example.id, $0.name] })
        #expect(SuiteTables.notFollowed.keys.filter { !names.contains($0) }.sorted() == [])
    }

    /// The article has the same list, in which a case has one place for all caches.
    @Test func everyCaseThatIsNotFollowedIsInTheArticle() throws {
        // The path of this file has four components below the root.
        var root = URL(filePath: #filePath)
        for _ in 1...4 { root.deleteLastPathComponent() }
        let article = root.appending(path: "Sources/Trellis/Trellis.docc/CachingRules.md")
        let text = try String(contentsOf: article, encoding: .utf8)
        let section = try #require(text.components(separatedBy: "## Differences from the public suite").last)
            .components(separatedBy: "\n## ")[0]
        let documented = section.matches(of: #/`([a-zA-Z0-9]+-[\w-]+)`/#).map { String($0.output.1) }
        let ids = Set(SuiteTables.files.flatMap(\.cases).map(\.id))
        let listed = SuiteTables.notFollowed.keys.map { String($0.prefix { $0 != " " }) }
        #expect(documented.filter(ids.contains).sorted() == listed.sorted())
    }

    @Test func everyLineIsAField() {
        let steps = SuiteTables.files.flatMap(\.cases).flatMap(\.steps)
        let lines = steps.flatMap { step in
            step.requestLines + step.lines + step.received + step.interim.flatMap(\.lines)
        }
        #expect(lines.filter { SuiteFields.field($0, at: SuiteClock.start) == nil } == [])
    }

    @Test func datesAreRelativeToTheClock() {
        let line = SuiteFields.field("If-Modified-Since: {850:-1}, {60}", at: SuiteClock.start)
        #expect(line?.value == "Sunday, 03-May-26 03:09:36 GMT, Sun, 03 May 2026 03:10:37 GMT")
    }
}
