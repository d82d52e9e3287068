import Glibc

/// A destination for the chunks of a download: a file, or none.
public struct ByteSink: Sendable {
    /// The number of bytes that have arrived.
    public private(set) var count: Int64 = 0
    private let descriptor: Int32?

    /// Creates the file; the bytes are discarded if the path is `nil`.
    public init(path: String?) throws {
        guard let path else {
            descriptor = nil
            return
        }
        let opened = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw FileFailure(path) }
        descriptor = opened
    }

    /// Writes the next chunk, and blocks until all of its bytes are in the file.
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

/// A failure to open, read or write a file.
public struct FileFailure: Error, CustomStringConvertible {
    /// The operation or the path, and the reason of the failure.
    public let description: String

    /// Creates the error with the reason that `errno` has at present.
    public init(_ what: String) {
        description = "\(what): \(String(cString: strerror(errno)))"
    }
}
