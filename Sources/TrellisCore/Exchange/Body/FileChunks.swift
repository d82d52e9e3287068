import CurlEngine
import FoundationEssentials

/// A reader of a file as the chunks of a body. Runs on a thread that may block on a disk.
enum FileChunks {
    /// The size of a chunk in bytes: 256 KiB.
    static let chunkSize = 256 << 10

    /// Returns the size of a regular, readable file in bytes.
    ///
    /// - Parameter sizes: The sizes that were found before. A size that is missing is read from the file system, which may block on a disk.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/file``.
    static func size(ofFileAt path: String, _ sizes: FileSizes? = nil) throws(TrellisError) -> Int64 {
        if let size = try sizes?[path] { return size }
        return try naming(path) { () throws(FileError) in try FileReader.size(path: path) }
    }

    /// Sends the first `length` bytes of the file.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/file``; `CancellationError` in a cancelled task, which does not wait.
    static func send(fileAt path: String, length: Int64, _ send: @Sendable (Data) async throws -> Void) async throws {
        let reader = try await open(path, length: length)
        var offset: Int64 = 0
        while offset < length {
            let place = offset
            let chunk = try await waiting(path) { () throws(FileError) in
                try reader.read(atMost: chunkSize, at: place)
            }
            offset += Int64(chunk.count)
            try await send(chunk)
        }
    }

    /// Opens the file to send its first `length` bytes.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/file``; `CancellationError` in a cancelled task, which does not wait.
    static func open(_ path: String, length: Int64) async throws -> FileReader {
        try await waiting(path) { () throws(FileError) in try FileReader(path: path, length: length) }
    }

    private static func waiting<Value: Sendable>(
        _ path: String, _ body: @escaping @Sendable () throws(FileError) -> Value
    ) async throws -> Value {
        do {
            return try await BlockingThreadPool.tryingUnlessCancelled(at: FileSystem.folder(of: path), body)
        } catch let error as FileError {
            throw failure(path, error)
        }
    }

    private static func naming<Result>(
        _ path: String, _ body: () throws(FileError) -> Result
    ) throws(TrellisError) -> Result {
        do throws(FileError) {
            return try body()
        } catch {
            throw failure(path, error)
        }
    }

    private static func failure(_ path: String, _ failure: FileError) -> TrellisError {
        TrellisError(.bodyFailed(.file(path: path, reason: failure.reason)))
    }
}
