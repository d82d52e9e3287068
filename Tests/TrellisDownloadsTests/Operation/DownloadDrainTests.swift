import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// Downloads in flight while their session shuts down: further requests are allowed until the grace period is over.
@Suite(.timeLimit(.minutes(3)))
struct DownloadDrainTests {
    private func world(_ hasSteps: Bool) throws -> ScriptedDownload {
        try ScriptedDownload(ScriptedDownload.largeFile) {
            if hasSteps { $0.steps.adapters.append(Adapter { request, _ in request }) }
        }
    }

    private func start(
        _ world: ScriptedDownload, connections: Int = 1
    ) async throws -> (DownloadRequest, ScriptedAttempt) {
        let (download, attempt) = try await world.start { $0.connections = connections }
        world.sendHead(attempt)
        return (download, attempt)
    }

    /// Shuts the session down; returns when the session accepts no new requests.
    private func drain(_ scripted: Scripted, _ grace: Duration = .seconds(3600)) async -> Task<Void, Never> {
        let end = Task { [session = scripted.session] in await session.shutdown(drainingFor: grace) }
        await scripted.waitUntilRefusing()
        return end
    }

    private func expectComplete(_ download: DownloadRequest, _ world: ScriptedDownload) async throws {
        #expect(try await download.value.size == Int64(world.content.count))
        #expect(world.isComplete)
    }

    /// An interrupted download continues during the grace period, also behind a redirect.
    @Test(arguments: [true, false]) func anInterruptedOneContinues(_ hasSteps: Bool) async throws {
        let world = try world(hasSteps)
        let (download, first) = try await start(world)
        try await world.receive(0..<1000, first, download)
        let end = await drain(world.scripted)
        first.fail(.exchangeFailed(.receive("x")))
        let second = try await world.nextAttempt(after: 1)
        second.connect()
        second.receiveHead(status: 302, headers: [.location: "/f?again"])
        second.end()
        let third = try await world.nextAttempt(after: 2)
        #expect(third.request.request.headers[.range] == "bytes=1000-")
        try world.sendPart(third)
        try await expectComplete(download, world)
        await end.value
    }

    @Test(arguments: [true, false]) func partsAreStillRequested(_ hasSteps: Bool) async throws {
        let world = try world(hasSteps)
        let (download, first) = try await start(world, connections: 2)
        let second = try await world.transport.nextAttempt()
        let end = await drain(world.scripted)
        try world.sendPart(second)
        // It begins at once. A clock that moves until then might reach the idle limit of the first one.
        let third = try await world.transport.nextAttempt()
        #expect(third.request.request.headers[.range] == "bytes=\(1 << 20)-\((2 << 20) - 1)")
        try world.sendPart(third)
        try await world.wait { download.currentProgress.completedBytes == 3 << 20 }
        first.receiveBody(world.content.prefix(1 << 20))
        try await expectComplete(download, world)
        await end.value
    }

    /// A download between two attempts has no request in flight; the session still waits for the download, but no longer than the
    /// grace period.
    @Test func oneBetweenTwoAttemptsEndsWithTheGracePeriod() async throws {
        let world = try world(false)
        let (download, first) = try await start(world)
        try await world.receive(0..<1000, first, download)
        download.suspend()
        first.fail(.exchangeFailed(.receive("x")))
        while await world.scripted.liveCount > 0, !Task.isCancelled { await world.session.settle() }
        let end = await drain(world.scripted, .seconds(10))
        await world.scripted.advance(by: .seconds(10) - .nanoseconds(1))
        #expect(download.state == .suspended)
        await world.scripted.advance(by: .nanoseconds(1))
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.reason == .cancelled(.sessionShutDown) && download.state == .cancelled)
        await end.value
        #expect(download.resumeData?.receivedBytes == 1000)
    }

    @Test func oneThatHasNotStartedIsRefused() async throws {
        let world = try world(false)
        let (download, _) = try await start(world)
        let late = world.session.downloadRequest("http://localhost/late", to: .file(world.folder.path("late")))
        let end = await drain(world.scripted)
        let error = await #expect(throws: TrellisError.self) { try await late.value }
        #expect(error?.reason == .cancelled(.sessionShutDown) && error?.url == "http://localhost/late")
        #expect(world.transport.attempts.count == 1)
        download.cancel()
        await #expect(throws: TrellisError.self) { try await download.value }
        await end.value
        #expect(world.folder.content("late") == nil)
    }
}
