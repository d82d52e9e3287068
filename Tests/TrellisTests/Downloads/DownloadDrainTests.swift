import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

/// Downloads in flight while their session shuts down: further requests are allowed until the grace period is over.
@Suite(.timeLimit(.minutes(1)))
struct DownloadDrainTests {
    private static let content = Data((0..<4 << 20).map { UInt8(truncatingIfNeeded: $0 % 251) })
    private let path = FileManager.default.temporaryDirectory.appending(path: "trellis-\(UUID().uuidString)").path

    private func scripted(_ hasSteps: Bool) -> Scripted {
        Scripted { if hasSteps { $0.steps.adapters.append(Adapter { request, _ in request }) } }
    }

    private func start(_ scripted: Scripted, connections: Int = 1) async throws -> (DownloadRequest, ScriptedAttempt) {
        var options = DownloadOptions()
        options.connections = connections
        let download = scripted.session.downloadRequest("http://localhost/f", to: .file(path), options: options)
        download.resume()
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead(
            headers: [.eTag: "\"a\"", .contentLength: "\(Self.content.count)", .acceptRanges: "bytes"])
        return (download, attempt)
    }

    /// Shuts the session down; returns when the session accepts no new requests.
    private func drain(_ scripted: Scripted, _ grace: Duration = .seconds(3600)) async -> Task<Void, Never> {
        let end = Task { [session = scripted.session] in await session.shutdown(drainingFor: grace) }
        while await !scripted.session.actor.isShutDown { await scripted.session.settle() }
        return end
    }

    private func received(_ count: Int64, _ download: DownloadRequest) async {
        for await progress in download.progress where progress.completedBytes == count { break }
    }

    /// Advances the clock in steps until the next attempt after `count` starts.
    private func nextAttempt(
        _ scripted: Scripted, of download: DownloadRequest, after count: Int
    ) async throws -> ScriptedAttempt {
        while scripted.transport.attempts.count == count {
            try Task.checkCancellation()
            try #require(download.state == .resumed)
            await scripted.advance(by: .milliseconds(10))
        }
        return try await scripted.transport.nextAttempt()
    }

    private func sendPart(_ attempt: ScriptedAttempt, _ range: Range<Int>) {
        attempt.connect()
        attempt.receiveHead(
            status: 206,
            headers: [
                .eTag: "\"a\"",
                .contentRange: "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(Self.content.count)",
            ])
        attempt.receiveBody(Self.content[range])
        attempt.end()
    }

    private func expectWhole(_ download: DownloadRequest) async throws {
        #expect(try await download.value.size == Int64(Self.content.count))
        #expect(FileManager.default.contents(atPath: path) == Self.content)
        try FileManager.default.removeItem(atPath: path)
    }

    /// An interrupted download goes on during the grace period, also behind a redirect.
    @Test(arguments: [true, false]) func anInterruptedOneGoesOn(_ hasSteps: Bool) async throws {
        let scripted = scripted(hasSteps)
        let (download, first) = try await start(scripted)
        first.receiveBody(Self.content.prefix(1000))
        await received(1000, download)
        let end = await drain(scripted)
        first.fail(.exchangeFailed(.receive("x")))
        let second = try await nextAttempt(scripted, of: download, after: 1)
        second.connect()
        second.receiveHead(status: 302, headers: [.location: "/f?again"])
        second.end()
        let third = try await nextAttempt(scripted, of: download, after: 2)
        #expect(third.request.request.headers[.range] == "bytes=1000-")
        sendPart(third, 1000..<Self.content.count)
        try await expectWhole(download)
        await end.value
    }

    @Test(arguments: [true, false]) func partsAreAskedForOn(_ hasSteps: Bool) async throws {
        let scripted = scripted(hasSteps)
        let (download, first) = try await start(scripted, connections: 2)
        let second = try await scripted.transport.nextAttempt()
        let end = await drain(scripted)
        sendPart(second, 2 << 20..<4 << 20)
        let third = try await nextAttempt(scripted, of: download, after: 2)
        #expect(third.request.request.headers[.range] == "bytes=\(1 << 20)-\((2 << 20) - 1)")
        sendPart(third, 1 << 20..<2 << 20)
        await received(3 << 20, download)
        first.receiveBody(Self.content.prefix(1 << 20))
        try await expectWhole(download)
        await end.value
    }

    /// A download between two attempts has no request in flight; the session still waits for the download, but no longer than the
    /// grace period.
    @Test func oneBetweenTwoQuestionsEndsWithTheGrace() async throws {
        let scripted = scripted(false)
        let (download, first) = try await start(scripted)
        first.receiveBody(Self.content.prefix(1000))
        await received(1000, download)
        download.suspend()
        first.fail(.exchangeFailed(.receive("x")))
        while await scripted.liveCount > 0 { await scripted.session.settle() }
        let end = await drain(scripted, .seconds(10))
        await scripted.advance(by: .seconds(10) - .nanoseconds(1))
        #expect(download.state == .suspended)
        await scripted.advance(by: .nanoseconds(1))
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.reason == .cancelled(.sessionShutDown) && download.state == .cancelled)
        await end.value
        try FileManager.default.removeItem(atPath: #require(download.resumeData?.path))
    }

    @Test func oneThatHasNotStartedIsRefused() async throws {
        let scripted = scripted(false)
        let (download, _) = try await start(scripted)
        let late = scripted.session.downloadRequest("http://localhost/late", to: .file(path + "-late"))
        let end = await drain(scripted)
        let error = await #expect(throws: TrellisError.self) { try await late.value }
        #expect(error?.reason == .cancelled(.sessionShutDown) && error?.url == "http://localhost/late")
        #expect(scripted.transport.attempts.count == 1)
        download.cancel()
        await #expect(throws: TrellisError.self) { try await download.value }
        await end.value
        #expect(!FileManager.default.fileExists(atPath: path + "-late"))
    }
}
