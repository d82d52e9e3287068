import Foundation

/// Creates a folder for this process in the system's temporary folder, and returns its path.
func temporaryFolder(_ name: String) throws -> String {
    let folder = FileManager.default.temporaryDirectory
        .appending(path: "trellis-tests-\(ProcessInfo.processInfo.processIdentifier)/\(name)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder.path
}
