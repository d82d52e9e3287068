import CurlEngine
public import FoundationEssentials

/// A place from which certificates, keys or revocation lists are read.
public enum CertificateSource: Sendable, Hashable {
    /// The file at a path. It is read when the first request needs it, and again when it has changed.
    case path(String)
    /// The contents of such a file.
    case bytes(Data)

    /// A file, which is read when the first request needs it, and again when it has changed.
    public static func file(_ file: some FilePathConvertible) -> CertificateSource { .path(file.filePath) }

    /// A text in PEM (RFC 7468).
    public static func pem(_ text: String) -> CertificateSource { .bytes(Data(text.utf8)) }

    /// Returns whether the bytes of the paths, or the contents, are the same: the system distinguishes all other paths.
    public static func == (one: CertificateSource, other: CertificateSource) -> Bool {
        switch (one, other) {
        case (.path(let one), .path(let other)): one.hasSameBytes(as: other)
        case (.bytes(let one), .bytes(let other)): one == other
        case (.path, .bytes), (.bytes, .path): false
        }
    }

    /// The path of the file; `nil` for bytes.
    package var path: String? {
        if case .path(let path) = self { path } else { nil }
    }

    /// The source in words, without its contents.
    package var name: String { path ?? "the given bytes" }
}

/// The certificate authorities that are trusted, as PEM files (RFC 7468) or their contents.
public enum CertificateAuthorities: Sendable, Hashable {
    /// The authorities of the system.
    case system
    /// Only the authorities of these sources. Without any source, each request to an `https` URL fails with kind
    /// ``TrellisError/Kind/file``.
    case only([CertificateSource])
    /// The authorities of the system and of these sources.
    case systemAnd([CertificateSource])

    /// The sources besides the system.
    package var sources: [CertificateSource] {
        switch self {
        case .system: []
        case .only(let sources), .systemAnd(let sources): sources
        }
    }
}
