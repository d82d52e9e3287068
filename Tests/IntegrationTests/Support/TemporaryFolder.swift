import Foundation

/// A folder of this process, in the system's place for such.
func temporaryFolder(_ name: String) throws -> String {
    let folder = FileManager.default.temporaryDirectory
        .appending(path: "trellis-tests-\(ProcessInfo.processInfo.processIdentifier)/\(name)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder.path
}
