import Foundation
import Synchronization

/// A new folder for the files of a test, which is removed when the test process ends.
///
///     let folder = try TemporaryFolder()
///     try folder.write("[1, 2]", to: "numbers.json")
///     let run = try await client(["\(url)/echo", "-d", "@\(folder["numbers.json"])", "-o", folder["copy"]])
///     #expect(try folder.text(of: "copy") == "[1, 2]")
struct TemporaryFolder: Sendable {
    let path: String

    /// Creates a folder.
    ///
    /// - Parameter isInMemory: Whether the folder is in memory, if the machine has a place for that and there is no `TMPDIR`. For a test
    ///   that presses Ctrl-C: a disk that is busy may take longer to synchronize a file than the client then has.
    init(isInMemory: Bool = false) throws {
        path = "\(isInMemory ? Self.memory : Self.all)/\(Self.count.add(1, ordering: .relaxed).newValue)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    /// The path of a file in the folder, whether there is one or not.
    subscript(name: String) -> String { "\(path)/\(name)" }

    /// Writes a file, and returns its path.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String { try write(Data(text.utf8), to: name) }

    /// Writes a file, and returns its path.
    @discardableResult
    func write(_ bytes: Data, to name: String) throws -> String {
        try bytes.write(to: URL(fileURLWithPath: self[name]))
        return self[name]
    }

    /// The bytes of a file.
    func data(of name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: self[name])) }

    /// The text of a file.
    func text(of name: String) throws -> String { String(decoding: try data(of: name), as: UTF8.self) }

    /// Whether there is a file or a folder of this name.
    func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: self[name]) }

    /// The names of the files, in order, with those that begin with a dot.
    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

    /// Removes a file, if there is one.
    func remove(_ name: String) { try? FileManager.default.removeItem(atPath: self[name]) }

    /// Removes the folder before the test process ends.
    func removeAll() { try? FileManager.default.removeItem(atPath: path) }

    /// The number of them so far, by which they are named.
    private static let count = Atomic(0)

    /// The folder of all of them, which only this user may read.
    private static let all: String = {
        let path = own(in: ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp")
        atexit { try? FileManager.default.removeItem(atPath: TemporaryFolder.all) }
        return path
    }()

    /// The same for those in memory.
    private static let memory: String = {
        let shared = "/dev/shm"
        guard ProcessInfo.processInfo.environment["TMPDIR"] == nil, FileManager.default.isWritableFile(atPath: shared)
        else { return all }
        let path = own(in: shared)
        atexit { try? FileManager.default.removeItem(atPath: TemporaryFolder.memory) }
        return path
    }()

    private static func own(in parent: String) -> String {
        let path = "\(parent)/trellis-client.\(UUID().uuidString.prefix(8))"
        guard mkdir(path, 0o700) == 0 else { fatalError("\(path) cannot be made") }
        return path
    }
}
