public import FoundationEssentials

/// Changes a body before it is read as something. Not called for an empty one.
public protocol DataPreprocessor: Sendable {
    /// The body as it is to be read.
    ///
    /// - Throws: Whatever keeps it from being read; the reader gets it unchanged.
    func preprocess(_ data: Data) throws -> Data
}

/// Leaves the body as it is.
public struct PassthroughPreprocessor: DataPreprocessor {
    /// A preprocessor that does nothing.
    public init() {}

    /// The same bytes.
    public func preprocess(_ data: Data) -> Data { data }
}

/// Takes away the line with which some servers, Google's among them, keep their JSON from being run as a script: `)]}'` or
/// `)]}',`, and the line's end.
public struct GoogleXSSIPreprocessor: DataPreprocessor {
    private static let prefixes = [")]}',\n", ")]}'\n", ")]}',\r\n", ")]}'\r\n"].map { Data($0.utf8) }

    /// A preprocessor that takes the prefix away where it is.
    public init() {}

    /// The bytes without the prefix.
    public func preprocess(_ data: Data) -> Data {
        guard let prefix = Self.prefixes.first(where: { data.starts(with: $0) }) else { return data }
        return data.dropFirst(prefix.count)
    }
}

extension DataPreprocessor where Self == PassthroughPreprocessor {
    /// Leaves the body as it is.
    public static var passthrough: PassthroughPreprocessor { PassthroughPreprocessor() }
}

extension DataPreprocessor where Self == GoogleXSSIPreprocessor {
    /// Takes away the line that protects JSON from being run as a script.
    public static var googleXSSI: GoogleXSSIPreprocessor { GoogleXSSIPreprocessor() }
}
