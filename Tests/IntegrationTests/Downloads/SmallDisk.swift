import Foundation

/// A file system of its own for one test, of bounded size, which goes with the value.
final class SmallDisk: Sendable {
    let folder: Folder

    /// Whether file systems can be mounted here: as root, unless that is root of a container without the right.
    static let isAvailable = (try? SmallDisk(kilobytes: 64)) != nil

    struct Failure: Error {}

    init(kilobytes: Int) throws {
        folder = try Folder()
        try Self.run("mount", "-t", "tmpfs", "-o", "size=\(kilobytes)k", "trellis", folder.path)
    }

    deinit { try? Self.run("umount", "-l", folder.path) }

    /// Makes it larger, or readable only.
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
