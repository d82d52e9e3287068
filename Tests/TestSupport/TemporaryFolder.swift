package import Foundation
import Glibc

/// A new folder for the files of a test, which is removed with the value.
package final class TemporaryFolder: Sendable {
    /// The folder in memory of this process's temporary folders, which is removed when the process exits: a storage that is released with a
    /// test may write its last file after the test. With `TMPDIR`, and without such a file system, it is on a disk.
    private static let memory: URL = {
        let shared = URL(filePath: "/dev/shm")
        let isUsable =
            ProcessInfo.processInfo.environment["TMPDIR"] == nil
            && FileManager.default.isWritableFile(atPath: shared.path)
        atexit { try? FileManager.default.removeItem(at: TemporaryFolder.memory) }
        return own(in: isUsable ? shared : FileManager.default.temporaryDirectory)
    }()

    /// The same folder among the system's temporary files.
    private static let disk: URL = {
        atexit { try? FileManager.default.removeItem(at: TemporaryFolder.disk) }
        return own(in: FileManager.default.temporaryDirectory)
    }()

    private static func own(in base: URL) -> URL {
        base.appending(path: "trellis-tests-\(ProcessInfo.processInfo.processIdentifier)-\(UUID().uuidString)")
    }

    package let url: URL

    /// Creates a folder: in memory, because a disk takes milliseconds for each file that is written durably, or on the system's disk with
    /// `Tests/run.sh --all`.
    ///
    /// - Parameter isInMemory: Whether the folder is in memory with `--all`, too, because the test is not about a disk.
    package init(isInMemory: Bool = false) throws {
        url = (isInMemory || !Scale.isFull ? Self.memory : Self.disk).appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// The path of the folder.
    package var path: String { url.path }

    /// The names of all files in the folder, in order.
    package var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

    /// Returns the path of a file in the folder.
    package func path(_ name: String) -> String { url.appending(path: name).path }

    /// Returns the content of a file; `nil` if there is no such file.
    package func content(_ name: String) -> Data? { FileManager.default.contents(atPath: path(name)) }

    /// Returns the permissions of a file; `nil` if there is no such file.
    package func permissions(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path(name))[.posixPermissions] as? Int
    }

    /// Writes a file.
    ///
    /// - Parameter permissions: The permissions of the file; the system's default if `nil`.
    package func write(_ data: Data, to name: String, permissions: Int? = nil) throws {
        try data.write(to: URL(fileURLWithPath: path(name)))
        guard let permissions else { return }
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path(name))
    }
}
