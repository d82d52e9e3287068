import CurlEngine
import Foundation
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// New files of entries, which the owner of the folder can take for abandoned ones before they are locked.
@Suite(.timeLimit(.minutes(3)))
struct DiskCacheNewFileTests {
    /// The lock of a file, as another process holds it.
    private final class HeldLock: Sendable {
        private let lock: FileLock

        init?(path: String) throws {
            guard let lock = try FileLock.taken(path: path) else { return nil }
            self.lock = lock
        }
    }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Returns a new file, before the locking of which a closure is called with its path, for so many attempts.
    private func newFile(
        after count: Int, _ body: @escaping @Sendable (String) -> Void
    ) throws -> RandomAccessFile {
        let attempts = Locked(0)
        let handler: FileOperationHook.Handler = { operation, moment in
            guard case .lock(let path) = operation, path.contains("/new/"), moment == .before else { return nil }
            let number = attempts.next()
            if number <= count { body(path) }
            return nil
        }
        let folder = DiskCacheFolder(path: folder.path)
        return try FileOperationHook.$handler.withValue(handler) { try folder.makeTemporaryFile() }
    }

    private var newNames: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path + "/entries-1/new") }
    }

    @Test func aFileThatIsRemovedBeforeItIsLockedIsReplaced() throws {
        let file = try newFile(after: DiskCacheFolder.creationCount - 1) { RandomAccessFile.removeAbandoned(path: $0) }
        #expect(try newNames.count == 1 && FileManager.default.fileExists(atPath: file.path))
        // The file is locked now.
        RandomAccessFile.removeAbandoned(path: file.path)
        #expect(FileManager.default.fileExists(atPath: file.path))
    }

    @Test func aFileThatAnotherProcessHasLockedIsReplaced() throws {
        let held = Locked<[HeldLock]>([])
        let file = try newFile(after: 1) { path in
            if let lock = try? HeldLock(path: path) { held.withLock { $0.append(lock) } }
        }
        #expect(held.withLock { $0.count } == 1)
        #expect(try newNames.count == 1 && FileManager.default.fileExists(atPath: file.path))
    }

    /// The attempts end, whatever removes the files.
    @Test func theAttemptsToCreateAFileAreBounded() throws {
        #expect(throws: RandomAccessFile.isRemoved) {
            _ = try newFile(after: .max) { RandomAccessFile.removeAbandoned(path: $0) }
        }
        #expect(try newNames == [])
    }
}
