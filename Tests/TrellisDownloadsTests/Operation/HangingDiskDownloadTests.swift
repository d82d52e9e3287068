import CurlEngine
import Foundation
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// Downloads whose disk hangs: their readers do not wait for it after a cancellation or the deadline.
@Suite(.timeLimit(.minutes(3)))
struct HangingDiskDownloadTests {
    private let disk = HangingDisk()

    private static func isWriting(_ operation: FileOperationHook.Operation) -> Bool {
        if case .write = operation { true } else { false }
    }

    @Test(arguments: [false, true])
    func aReaderDoesNotWaitForADiskThatHangs(_ isCancelled: Bool) async throws {
        let world = try ScriptedDownload()
        try await disk.hanging(at: Self.isWriting) {
            let download = world.download(timeouts: Timeouts(idle: nil, total: .seconds(3600)))
            let hasEnded = Locked(false)
            let reader = Task {
                defer { hasEnded.withLock { $0 = true } }
                return try await download.value
            }
            world.sendFile(try await world.transport.nextAttempt())
            try await disk.isReached.opened()
            if isCancelled { reader.cancel() }
            // The wait for the disk may begin after a move.
            while !hasEnded.withLock({ $0 }), !Task.isCancelled {
                world.clock.move(by: .seconds(isCancelled ? 5 : 3600))
                await Task.yield()
            }
            let result = await reader.result
            if isCancelled {
                #expect(throws: CancellationError.self) { try result.get() }
            } else {
                let error = #expect(throws: TrellisError.self) { try result.get() }
                #expect(error?.reason == .timedOut(.total))
            }
            disk.goOn()
        }
    }
}
