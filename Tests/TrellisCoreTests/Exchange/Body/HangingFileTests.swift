import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Files on a disk that hangs: whoever leaves does not wait for it.
@Suite(.timeLimit(.minutes(3)))
struct HangingFileTests {
    private let disk = HangingDisk()
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(Data("body".utf8), to: "file")
    }

    /// Checks that a task which uses the file ends with its cancellation while the disk hangs.
    private func leaves(_ use: @escaping @Sendable (String) async throws -> Void) async throws {
        let path = folder.path("file")
        try await disk.hanging(at: HangingDisk.isOpening) {
            let task = Task { try await use(path) }
            try await disk.isReached.opened()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        disk.goOn()
    }

    /// RFC 7616, section 3.4.3: with `auth-int`, the body is read before it is sent.
    @Test func theHashOfABodyIsNotWaitedFor() async throws {
        try await leaves { path in
            _ = try await Request("http://a.example/", method: .post, body: .file(path)).hashOfBody(.md5)
        }
    }

    @Test func aBodyFromAFileIsNotWaitedFor() async throws {
        try await leaves { path in try await FileChunks.send(fileAt: path, length: 4) { _ in } }
    }
}
