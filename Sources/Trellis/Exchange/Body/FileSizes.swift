import CurlEngine

/// The sizes of the files of a body, found on a thread that may block on a disk: neither the pool nor the engine thread may.
struct FileSizes: Sendable {
    private let sizes: [String: Result<Int64, TrellisError>]

    /// Asks for the size of each file, once. A file that cannot be sent throws its error when its size is looked up.
    ///
    /// - Throws: `CancellationError` in a cancelled task, without waiting for the disk.
    init(of body: RequestBody?) async throws {
        var paths: Set<String> = []
        body?.source.insertPaths(into: &paths)
        let found = paths
        sizes = try await BlockingThreadPool.runUnlessCancelled {
            var sizes: [String: Result<Int64, TrellisError>] = [:]
            for path in found {
                do throws(TrellisError) {
                    sizes[path] = .success(try FileChunks.size(ofFileAt: path))
                } catch {
                    sizes[path] = .failure(error)
                }
            }
            return sizes
        }
    }

    /// The size of a file in bytes; `nil`: the file is not part of the body.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/file``.
    subscript(path: String) -> Int64? {
        get throws(TrellisError) { try sizes[path]?.get() }
    }
}

extension Request {
    /// A Boolean value: the size of a file has to be asked of a disk before the body can be sent.
    var hasFiles: Bool { body?.source.hasFiles ?? false }
}

extension RequestBody.Source {
    /// A Boolean value: the body is a file, or a form with one.
    var hasFiles: Bool {
        switch self {
        case .data, .stream: false
        case .file: true
        case .multipart(let form): form.parts.contains { $0.body.source.hasFiles }
        }
    }

    fileprivate func insertPaths(into paths: inout Set<String>) {
        switch self {
        case .data, .stream: break
        case .file(let path): paths.insert(path)
        case .multipart(let form): for part in form.parts { part.body.source.insertPaths(into: &paths) }
        }
    }
}
