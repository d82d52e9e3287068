public import FoundationEssentials

/// A transformation of a body before the body is serialized. Not called for an empty body.
public protocol DataPreprocessor: Sendable {
    /// Returns the body as it is to be serialized.
    ///
    /// - Throws: Any error that prevents this; the reader receives the error unchanged.
    func preprocess(_ data: Data) throws -> Data
}

/// A preprocessor that leaves the body as it is.
public struct PassthroughPreprocessor: DataPreprocessor {
    /// Creates a preprocessor that does nothing.
    public init() {}

    /// Returns the same bytes.
    public func preprocess(_ data: Data) -> Data { data }
}

/// A preprocessor that removes the line with which some servers, Google's among them, prevent their JSON from being run as a script:
/// `)]}'` or `)]}',`, and the line's end.
public struct GoogleXSSIPreprocessor: DataPreprocessor {
    private static let prefixes = [")]}',\n", ")]}'\n", ")]}',\r\n", ")]}'\r\n"].map { Data($0.utf8) }

    /// Creates a preprocessor that removes the prefix if there is one.
    public init() {}

    /// Returns the bytes without the prefix.
    public func preprocess(_ data: Data) -> Data {
        guard let prefix = Self.prefixes.first(where: { data.starts(with: $0) }) else { return data }
        return data.dropFirst(prefix.count)
    }
}

extension DataPreprocessor where Self == PassthroughPreprocessor {
    /// A preprocessor that leaves the body as it is.
    public static var passthrough: PassthroughPreprocessor { PassthroughPreprocessor() }
}

extension DataPreprocessor where Self == GoogleXSSIPreprocessor {
    /// A preprocessor that removes the line that protects JSON from being run as a script.
    public static var googleXSSI: GoogleXSSIPreprocessor { GoogleXSSIPreprocessor() }
}
