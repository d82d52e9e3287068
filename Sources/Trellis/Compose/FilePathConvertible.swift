public import FoundationEssentials

/// A path in the file system: a `String`, or a `URL` with the scheme `file`.
public protocol FilePathConvertible: Sendable {
    /// The path, absolute or relative to the current directory of the process, without percent-encoding.
    var filePath: String { get }
}

extension String: FilePathConvertible {
    /// The string itself.
    public var filePath: String { self }
}

extension URL: FilePathConvertible {
    /// The URL's path, decoded. The scheme is not looked at.
    public var filePath: String { path(percentEncoded: false) }
}
