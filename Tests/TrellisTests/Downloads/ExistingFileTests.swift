import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

/// A file that exists at the destination before the download.
@Suite(.timeLimit(.minutes(1)))
struct ExistingFileTests {
    private static let checksum = Checksum.sha256("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")

    private let clock = TestClock()
    private let transport: ScriptedTransport
    private let session: Session
    private let folder = FileManager.default.temporaryDirectory.appending(path: "trellis-\(UUID().uuidString)")
    private var path: String { folder.appending(path: "f").path }

    init() throws {
        transport = ScriptedTransport(clock: clock)
        session = Session(transport: transport, clock: clock)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func write(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }

    private func removeFolder() throws { try FileManager.default.removeItem(at: folder) }

    private func sendHead(_ attempt: ScriptedAttempt) {
        attempt.connect()
        attempt.receiveHead(headers: [.contentLength: "3"])
    }

    @Test func oneThatMatchesIsKeptWithoutARequest() async throws {
        try write("abc")
        let download = session.downloadRequest(
            "http://a.example/f", to: .file(path, .keepIfItMatches), checksum: Self.checksum)
        let file = try await download.value
        #expect(file.isExisting && file.path == path && file.size == 3)
        #expect(file.resumedBytes == 3 && file.attemptCount == 0)
        #expect(file.response.status == .notModified && file.response.url == "http://a.example/f")
        #expect(try await download.response.status == .notModified)
        #expect(download.currentProgress.fraction == 1 && download.state == .finished)
        #expect(transport.attempts.isEmpty)
        try removeFolder()
    }

    @Test func oneThatDoesNotMatchIsReplaced() async throws {
        try write("abd")
        let download = session.downloadRequest(
            "http://a.example/f", to: .file(path, [.keepIfItMatches, .removePreviousFile]), checksum: Self.checksum)
        async let value = download.value
        let attempt = try await transport.nextAttempt()
        sendHead(attempt)
        attempt.receiveBody("abc")
        attempt.end()
        let file = try await value
        #expect(!file.isExisting && file.response.status == .ok)
        #expect(FileManager.default.contents(atPath: path) == Data("abc".utf8))
        try removeFolder()
    }

    @Test func oneThatDoesNotMatchAndMustNotBeReplacedIsAnError() async throws {
        try write("abd")
        let download = session.downloadRequest(
            "http://a.example/f", to: .file(path, .keepIfItMatches), checksum: Self.checksum)
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.reason == .downloadFailed(.exists(path: path)) && transport.attempts.isEmpty)
        try removeFolder()
    }

    @Test func withoutAChecksumItIsAnError() async throws {
        try write("abc")
        let download = session.downloadRequest("http://a.example/f", to: .file(path, .keepIfItMatches))
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .invalidRequest && transport.attempts.isEmpty)
        #expect(error?.description.contains("keepIfItMatches needs one") == true)
        try removeFolder()
    }

    /// A file in a destination folder is found by the name in the response, of which only the head is needed.
    @Test(arguments: [true, false]) func oneInAFolder(_ isChosen: Bool) async throws {
        try write("abc")
        let path = path
        let destination: DownloadDestination =
            isChosen ? .choosing(.keepIfItMatches) { _ in path } : .directory(folder.path, .keepIfItMatches)
        let download = session.downloadRequest("http://a.example/f", to: destination, checksum: Self.checksum)
        async let value = download.value
        let attempt = try await transport.nextAttempt()
        sendHead(attempt)
        let file = try await value
        #expect(file.isExisting && file.path == path && file.attemptCount == 1 && file.response.status == .ok)
        try await attempt.wait(for: .cancel)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["f"])
        try removeFolder()
    }
}
