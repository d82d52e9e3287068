import Foundation
import Testing

@testable import CurlEngine

/// The contents of small files.
struct FileContentsTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "trellis-contents-\(UUID())").path

    private func write(_ text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
    }

    @Test func reading() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let text = String(repeating: "text ", count: 50_000)
        try write(text)
        #expect(try FileContents.read(path: path) == Array(text.utf8))
        try write("")
        #expect(try FileContents.read(path: path) == [])
    }

    @Test(arguments: [
        ("/nonexistent", "No such file or directory"), ("/etc", "Is a directory"), ("", "its path is empty"),
    ])
    func filesThatCannotBeRead(_ path: String, _ reason: String) throws {
        let error = try #require(throws: FileError.self) { try FileContents.read(path: path) }
        #expect(error.reason == reason)
    }

    @Test func aPathIsNotReadUpToItsNUL() {
        #expect(throws: FileError.self) { try FileContents.read(path: "/etc/hostname\0x") }
    }

    @Test func changesAreNoticed() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(FileContents.Stamp(path: path) == nil)
        try write("one")
        let stamp = FileContents.Stamp(path: path)
        #expect(stamp != nil && stamp == FileContents.Stamp(path: path))
        // Another file of the same size.
        try write("two")
        #expect(stamp != FileContents.Stamp(path: path))
    }

    @Test func aFileInMemoryHasAPath() throws {
        let path: String
        do {
            let file = try #require(MemoryFile(Array("list".utf8)))
            path = file.path
            #expect(try FileContents.read(path: path) == Array("list".utf8))
        }
        #expect((try? FileContents.read(path: path)) != Array("list".utf8))
    }
}
