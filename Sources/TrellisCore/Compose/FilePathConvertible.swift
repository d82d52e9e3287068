import CurlEngine
public import FoundationEssentials

/// A path in the file system: a `String`, or a `URL` with the scheme `file` or without a scheme.
public protocol FilePathConvertible: Sendable {
    /// The path, absolute or relative to the current directory of the process, without percent-encoding.
    var filePath: String { get }
}

extension String: FilePathConvertible {
    /// The string itself.
    public var filePath: String { self }
}

extension URL: FilePathConvertible {
    /// The decoded path of a URL with the scheme `file` or without a scheme. The URL of any other scheme has an empty path, which
    /// is an error where a file is read or written.
    public var filePath: String {
        guard let scheme, scheme.lowercasedASCII() != "file" else { return path(percentEncoded: false) }
        return ""
    }
}
