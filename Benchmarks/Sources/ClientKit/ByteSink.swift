import Glibc

/// Where the chunks of a download go: a file, or nowhere.
public struct ByteSink: Sendable {
    /// The bytes that have arrived.
    public private(set) var count: Int64 = 0
    private let descriptor: Int32?

    /// Creates the file, or discards the bytes where there is no path.
    public init(path: String?) throws {
        guard let path else {
            descriptor = nil
            return
        }
        let opened = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw FileFailure(path) }
        descriptor = opened
    }

    /// Takes the next chunk, blocking while the file takes it.
    public mutating func receive(_ bytes: UnsafeRawBufferPointer) throws {
        count += Int64(bytes.count)
        guard let descriptor else { return }
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            guard written > 0 else { throw FileFailure("write") }
            rest = rest.dropFirst(written)
        }
    }

    /// Closes the file.
    public func close() {
        if let descriptor { _ = Glibc.close(descriptor) }
    }
}

/// A file could not be opened, read or written.
public struct FileFailure: Error, CustomStringConvertible {
    /// What was tried, and why it failed.
    public let description: String

    /// Keeps the reason that `errno` has now.
    public init(_ what: String) {
        description = "\(what): \(String(cString: strerror(errno)))"
    }
}
