import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// A file that exists at the destination before the download.
@Suite(.timeLimit(.minutes(3)))
struct ExistingFileTests {
    private static let checksum = Checksum.sha256("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")

    private let world: ScriptedDownload

    init() throws { world = try ScriptedDownload(Data("abc".utf8)) }

    private func write(_ text: String) throws { try world.folder.write(Data(text.utf8), to: "f") }

    @Test func oneThatMatchesIsKeptWithoutARequest() async throws {
        try write("abc")
        let download = world.download(.keepIfItMatches, checksum: Self.checksum)
        let file = try await download.value
        #expect(file.isExisting && file.path == world.path && file.attemptCount == 0)
        #expect(file.size == 3 && file.resumedBytes == 3)
        #expect(file.response.status == .notModified && file.response.url == "http://a.example/f")
        #expect(try await download.response.status == .notModified)
        #expect(download.currentProgress.fraction == 1 && download.state == .finished)
        #expect(world.transport.attempts.isEmpty)
    }

    @Test func oneThatDoesNotMatchIsReplaced() async throws {
        try write("abd")
        let download = world.download([.keepIfItMatches, .removePreviousFile], checksum: Self.checksum)
        async let value = download.value
        let attempt = try await world.transport.nextAttempt()
        world.sendFile(attempt)
        let file = try await value
        #expect(!file.isExisting && file.response.status == .ok)
        #expect(world.file == Data("abc".utf8))
    }

    @Test func oneThatDoesNotMatchAndMustNotBeReplacedIsAnError() async throws {
        try write("abd")
        let download = world.download(.keepIfItMatches, checksum: Self.checksum)
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.reason == .downloadFailed(.exists(path: world.path)) && world.transport.attempts.isEmpty)
    }

    @Test func withoutAChecksumItIsAnError() async throws {
        try write("abc")
        let download = world.download(.keepIfItMatches)
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .invalidRequest && world.transport.attempts.isEmpty)
        #expect(error?.description.contains("keepIfItMatches needs one") == true)
    }

    /// A file in a destination folder is found by the name in the response, of which only the head is needed.
    @Test(arguments: [true, false]) func oneInAFolder(_ isChosen: Bool) async throws {
        try write("abc")
        let path = world.path
        let destination: DownloadDestination =
            isChosen ? .choosing(.keepIfItMatches) { _ in path } : .directory(world.folder.path, .keepIfItMatches)
        let download = world.session.downloadRequest(ScriptedDownload.url, to: destination, checksum: Self.checksum)
        async let value = download.value
        let attempt = try await world.transport.nextAttempt()
        world.sendHead(attempt)
        let file = try await value
        #expect(file.isExisting && file.path == path && file.attemptCount == 1 && file.response.status == .ok)
        try await attempt.wait(for: .cancel)
        #expect(world.folder.names == ["f"])
    }

    /// An interrupted download that replaces a read-only file is resumed by a later one, and the permissions stay.
    @Test func aReadOnlyFileIsReplacedAfterAnInterruption() async throws {
        try world.folder.write(Data("old".utf8), to: "f", permissions: 0o444)
        let (first, attempt) = try await world.start(.removePreviousFile)
        world.sendHead(attempt)
        try await world.receive(0..<2, attempt, first)
        #expect(try world.folder.permissions(".f.trellis-part").map { $0 & 0o600 } == 0o600)
        first.cancel()
        await #expect(throws: TrellisError.self) { try await first.value }
        let (second, rest) = try await world.start(.removePreviousFile)
        #expect(world.requestedRange(rest) == 2..<3)
        try world.sendPart(rest)
        #expect(try await second.value.resumedBytes == 2)
        #expect(try world.folder.permissions("f") == 0o444)
        #expect(world.isComplete)
    }
}
