import CurlEngine
import FoundationEssentials

extension Netrc {
    /// The largest size of a file, in bytes: 1 MiB.
    private static var maximumSize: Int64 { 1 << 20 }

    /// Reads a file, on a thread that may wait for a disk.
    ///
    /// - Parameter path: The file. Unless given, the path in the environment variable `NETRC`, or else `.netrc` in the folder
    ///   that `HOME` names; if no such file exists, the result has no entries.
    /// - Throws: ``AuthenticationError/unreadableNetrc(path:reason:)`` for a file that is missing although its path was given, is no
    ///   regular file, or is larger than 1 MiB; ``AuthenticationError/malformedNetrc(line:)``; `CancellationError` in a cancelled task,
    ///   without waiting for the disk.
    public static func load(from path: (any FilePathConvertible)? = nil) async throws -> Netrc {
        guard let path = path?.filePath else {
            let environment = ProcessInfo.processInfo.environment
            guard let usual = environment["NETRC"] ?? environment["HOME"].map({ "\($0)/.netrc" }),
                try await BlockingThreadPool.runUnlessCancelled(
                    at: FileSystem.folder(of: usual), { FileManager.default.fileExists(atPath: usual) })
            else { return Netrc(entries: []) }
            return try await load(from: usual)
        }
        do {
            return try await BlockingThreadPool.tryingUnlessCancelled(at: FileSystem.folder(of: path)) {
                try Netrc(parsing: read(path))
            }
        } catch let failure as FileError {
            throw AuthenticationError.unreadableNetrc(path: path, reason: failure.reason)
        }
    }

    private static func read(_ path: String) throws(FileError) -> String {
        // Checked with `FileReader`, so that the error has the same words as for a file of a body.
        let size = try FileReader.size(path: path)
        guard size <= maximumSize else { throw FileError(reason: "it is larger than 1 MiB") }
        guard let file = try WholeFile.read(path: path, limit: Int(maximumSize)) else {
            throw FileError(reason: "it does not exist")
        }
        return String(decoding: file.data, as: UTF8.self)
    }
}
