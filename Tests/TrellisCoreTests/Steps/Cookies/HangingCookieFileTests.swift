import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// A disk that hangs holds neither a call beyond its end nor more than one thread.
@Suite(.timeLimit(.minutes(3)))
struct HangingCookieFileTests {
    private let folder: TemporaryFolder
    private let disk = HangingDisk()
    private let clock = TestClock()
    private let cookies: CookieFile
    private let session: Session

    init() throws {
        folder = try TemporaryFolder()
        let text = "# Netscape HTTP Cookie File\na.example\tFALSE\t/\tFALSE\t0\ta\t1\n"
        try folder.write(Data(text.utf8), to: "cookies.txt")
        cookies = CookieFile(path: folder.path("cookies.txt"))
        var configuration = SessionConfiguration()
        configuration.steps.cookies = cookies
        let transport = MockTransport { request in .text(request.headers[.cookie] ?? "none") }
        session = Session(configuration: configuration, transport: transport, clock: clock)
    }

    private func get(within limit: Duration? = nil) async throws -> String {
        var request = Request("http://a.example/")
        if let limit { request.timeouts = Timeouts(total: limit) }
        return String(decoding: try await session.data(request).0, as: UTF8.self)
    }

    @Test func aCallEndsAtItsDeadlineAndWithItsTask() async throws {
        try await disk.hanging(at: HangingDisk.isOpening) {
            let late = (0..<3).map { _ in Task { try await get(within: .seconds(1)) } }
            let cancelled = (0..<3).map { _ in Task { try await get() } }
            try await disk.isReached.opened()
            while await session.liveRequests.count != 6, !Task.isCancelled { await Task.yield() }
            for task in cancelled {
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
            await session.settle()
            clock.move(by: .seconds(1))
            for task in late {
                let error = await #expect(throws: TrellisError.self) { try await task.value }
                #expect(error?.reason == .timedOut(.total))
            }
            #expect(disk.operationCount == 1)
            // The cookies are there as soon as the disk is.
            let patient = Task { try await get() }
            disk.goOn()
            #expect(try await patient.value == "a=1")
        }
    }

    /// A read that is under way may have missed what another process has written since.
    @Test func theNextCallSeesWhatWasWrittenDuringARead() async throws {
        let other = CookieFile(path: folder.path("cookies.txt"))
        try await disk.hanging(at: HangingDisk.isOpening) {
            let first = Task { try await get() }
            try await disk.isReached.opened()
            await FileOperationHook.$handler.withValue(nil) { await other.store(["a=2"], from: "http://a.example/") }
            let second = Task { try await get() }
            while await session.liveRequests.count != 2, !Task.isCancelled { await Task.yield() }
            disk.goOn()
            _ = try await first.value
            #expect(try await second.value == "a=2")
        }
    }
}
