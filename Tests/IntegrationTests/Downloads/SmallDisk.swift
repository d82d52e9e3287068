import Foundation

/// A file system of bounded size for one test, removed with the value.
final class SmallDisk: Sendable {
    let folder: Folder

    /// Whether file systems can be mounted here, which needs root and, in a container, the right to mount.
    static let isAvailable = (try? SmallDisk(kilobytes: 64)) != nil

    /// A failure to mount or unmount.
    struct Failure: Error {}

    init(kilobytes: Int) throws {
        folder = try Folder()
        try Self.run("mount", "-t", "tmpfs", "-o", "size=\(kilobytes)k", "trellis", folder.path)
    }

    deinit { try? Self.run("umount", "-l", folder.path) }

    /// Mounts the file system again with other options, such as a larger size or read-only access.
    func remount(_ options: String) throws { try Self.run("mount", "-o", "remount,\(options)", folder.path) }

    private static func run(_ name: String, _ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [name] + arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure() }
    }
}
