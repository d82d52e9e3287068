import CurlEngine
import Foundation
import Glibc
import Testing

/// A partial file notices changes that other processes make.
struct PartialFileTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "trellis-\(UUID().uuidString)").path

    @Test func aFileThatWasCutFailsUntilItBeginsAgain() throws {
        let file = try #require(try PartialFile.opened(path: path))
        defer { file.remove() }
        try file.write(Data(count: 100), at: 0)
        // Another descriptor is used, as another process would do.
        try #require(FileHandle(forWritingAtPath: path)).truncate(atOffset: 0)
        #expect(throws: FileError.self) { try file.write(Data(count: 1), at: 100) }
        try file.truncate(to: 0)
        try file.write(Data(count: 10), at: 0)
        #expect(file.length == 10)
    }

    /// A file that is left over is removed; a file that is in use stays, and so does a file that is not a partial file.
    @Test func abandonedFilesAreRemoved() throws {
        let file = try #require(try PartialFile.opened(path: path))
        defer { file.remove() }
        #expect(PartialFile.removeAbandoned(path: path) == .held && file.isInPlace)
        let other = path + "-2"
        try Data("dead".utf8).write(to: URL(fileURLWithPath: other))
        #expect(PartialFile.removeAbandoned(path: other) == .removed)
        #expect(PartialFile.removeAbandoned(path: other) == .missing)
        try FileManager.default.createSymbolicLink(atPath: other, withDestinationPath: path)
        defer { try? FileManager.default.removeItem(atPath: other) }
        #expect(PartialFile.removeAbandoned(path: other) == .held)
        // The system refuses to check a name of this length.
        #expect(PartialFile.removeAbandoned(path: path + String(repeating: "x", count: 300)) == .unknown)
    }

    /// A partial file can be opened again, whatever its permissions will be when it is complete.
    @Test func aPartialFileOfAReadOnlyFileCanBeWrittenTo() throws {
        let file = try #require(try PartialFile.opened(path: path, mode: 0o444))
        defer { file.remove() }
        let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(permissions.map { $0 & 0o600 } == 0o600)
    }

    /// A file that the process may not write to is left alone. The superuser may write to every file.
    @Test(.enabled(if: geteuid() != 0)) func aFileThatMayNotBeWrittenToIsLeftAlone() throws {
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: path)
        #expect(try PartialFile.opened(path: path) == nil)
        // A path behind a file is an error, because no other name in that folder can be used either.
        #expect(throws: FileError.self) { try PartialFile.opened(path: path + "/a") }
    }
}
