import CurlEngine
import FoundationEssentials

/// A file as the chunks of a body. Read on the pool of the task that pulls, never on the engine thread.
enum FileChunks {
    /// Bytes in a chunk.
    static let chunkSize = 256 << 10

    /// The size of a regular, readable file.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/file``.
    static func size(ofFileAt path: String) throws(TrellisError) -> Int64 {
        try naming(path) { () throws(FileReader.Failure) in try FileReader.size(path: path) }
    }

    /// Sends the first `length` bytes of the file.
    static func send(fileAt path: String, length: Int64, _ send: @Sendable (Data) async throws -> Void) async throws {
        let reader = try open(path, length: length)
        var offset: Int64 = 0
        while offset < length {
            let chunk = try naming(path) { () throws(FileReader.Failure) in
                try reader.read(atMost: chunkSize, at: offset)
            }
            offset += Int64(chunk.count)
            try await send(chunk)
        }
    }

    /// Opens the file, of which `length` bytes are to be sent.
    static func open(_ path: String, length: Int64) throws(TrellisError) -> FileReader {
        try naming(path) { () throws(FileReader.Failure) in try FileReader(path: path, length: length) }
    }

    private static func naming<Result>(
        _ path: String, _ body: () throws(FileReader.Failure) -> Result
    ) throws(TrellisError) -> Result {
        do throws(FileReader.Failure) {
            return try body()
        } catch {
            throw TrellisError(.bodyFailed(.file(path: path, why: error.why)))
        }
    }
}
