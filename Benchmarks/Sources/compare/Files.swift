import Foundation
import Glibc

/// An error that ends the complete comparison, with a message about what the user can do.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Returns everything that can be read from a descriptor, as text.
func contents(of descriptor: Int32) -> String {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { break }
        bytes += buffer[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
}

/// Returns the contents of a text file.
func readFile(_ path: String) throws -> String {
    try String(contentsOfFile: path, encoding: .utf8)
}

/// Writes a text file, completely or not at all.
func writeFile(_ text: String, to path: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
}

/// Creates a file of this size in bytes, which takes no space on the disk.
func makeSparseFile(_ path: String, size: Int) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0, ftruncate(descriptor, size) == 0 else { throw Failure("cannot make \(path)") }
    close(descriptor)
}

/// Returns the number of free bytes of a file system; 0 if the file system does not exist.
func freeSpace(of folder: String) -> Int {
    var status = statvfs()
    guard statvfs(folder, &status) == 0 else { return 0 }
    return Int(status.f_bavail) * Int(status.f_frsize)
}

/// Prints to standard error, which receives everything except the results.
func note(_ text: String) {
    var line = text + "\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
