/// The reason why a file or a folder cannot be used: the file of a ``CookieFile``, an ``HSTSStore``, an ``AlternativeServiceStore`` or
/// an ``HARRecorder``, or the folder of a ``DiskCacheStorage``.
public struct FileFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path of the file or folder.
    public let path: String
    /// The reason in words, from the system if the system refused.
    public let reason: String
    /// The path and the reason, in a sentence.
    public var description: String { "\(path) cannot be used: \(reason)" }

    /// Creates a failure, for tests and for storages of your own.
    public init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }
}
