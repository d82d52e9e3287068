import CurlEngine
public import FoundationEssentials
import TrellisCore

/// The digest that a file has to have, computed while the file is downloaded.
///
/// ```swift
/// session.downloadRequest(url, to: .file("image.iso"), checksum: .sha256("9f86d081…"))
/// ```
public struct Checksum: Sendable {
    /// A built-in digest, computed by the OpenSSL that libcurl has loaded, or by the system's.
    public enum Algorithm: String, Sendable, Hashable, CaseIterable {
        /// SHA-256 (FIPS 180-4).
        case sha256
        /// SHA-512 (FIPS 180-4).
        case sha512

        /// Whether the running process can compute the digest.
        public var isAvailable: Bool { digest.isAvailable }

        /// The length of the digest in bytes.
        var length: Int { self == .sha256 ? 32 : 64 }

        fileprivate var digest: MessageDigest.Algorithm { self == .sha256 ? .sha256 : .sha512 }
    }

    /// The name of the digest in messages.
    public let name: String
    /// The bytes that the digest has to have.
    public let expected: [UInt8]
    /// A closure that makes a function to compute the digest; the result is `nil` if the running process cannot.
    let makeDigest: @Sendable () -> (any DigestFunction)?

    /// Creates a checksum with a built-in digest.
    public init(_ algorithm: Algorithm, _ expected: some Sequence<UInt8>) {
        self.init(name: algorithm.rawValue, expected) {
            MessageDigest(algorithm.digest).map { BuiltInDigest(digest: $0) }
        }
    }

    /// Creates a checksum with a digest of your own, for example of swift-crypto.
    ///
    /// - Parameters:
    ///   - name: The name of the digest in messages.
    ///   - expected: The bytes that the digest has to have.
    ///   - digest: A closure that makes a new digest function.
    public init(
        name: String, _ expected: some Sequence<UInt8>, computedBy digest: @escaping @Sendable () -> any DigestFunction
    ) {
        self.init(name: name, expected, digest)
    }

    private init(
        name: String, _ expected: some Sequence<UInt8>, _ digest: @escaping @Sendable () -> (any DigestFunction)?
    ) {
        self.name = name
        self.expected = Array(expected)
        makeDigest = digest
    }

    /// Returns a SHA-256 checksum of hexadecimal digits. With any other text the download fails before it begins.
    public static func sha256(_ digits: String) -> Checksum { Checksum(.sha256, Hexadecimal.bytes(digits) ?? []) }

    /// Returns a SHA-512 checksum of hexadecimal digits. With any other text the download fails before it begins.
    public static func sha512(_ digits: String) -> Checksum { Checksum(.sha512, Hexadecimal.bytes(digits) ?? []) }

    /// Parses `sha256:…` or `sha512:…` with hexadecimal digits; `nil` if it is anything else.
    public init?(_ text: String) {
        let parts = text.split(atByte: ":", maxSplits: 1)
        guard parts.count == 2, let algorithm = Algorithm(rawValue: parts[0].lowercasedASCII()),
            let bytes = Hexadecimal.bytes(String(parts[1])), bytes.count == algorithm.length
        else { return nil }
        self.init(algorithm, bytes)
    }

    /// Returns the error that keeps the checksum from being checked; `nil` if there is none.
    func problem() -> TrellisError? {
        if expected.isEmpty { return TrellisError(.invalidRequest(.checksum("\(name): empty or not hexadecimal"))) }
        if let algorithm = Algorithm(rawValue: name), expected.count != algorithm.length {
            return TrellisError(
                .invalidRequest(.checksum("\(name) has \(algorithm.length) bytes, not \(expected.count)")))
        }
        return makeDigest() == nil ? TrellisError(.unsupported(name)) : nil
    }
}

extension Checksum: Hashable {
    /// Returns whether two checksums have the same name and expect the same bytes.
    public static func == (one: Checksum, other: Checksum) -> Bool {
        one.name == other.name && one.expected == other.expected
    }

    /// Hashes the name and the expected bytes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(expected)
    }
}

/// A function that computes a digest of bytes that arrive piece by piece, in their order.
public protocol DigestFunction {
    /// Adds bytes to the digest.
    mutating func update(_ bytes: Data)

    /// Returns the digest of all bytes. Called once, at the end.
    mutating func finish() -> [UInt8]
}

/// A digest of the OpenSSL at hand. A failure of the library results in an empty digest, which no file has.
private struct BuiltInDigest: DigestFunction {
    let digest: MessageDigest

    mutating func update(_ bytes: Data) { digest.update(bytes) }

    mutating func finish() -> [UInt8] { digest.finish().flatMap(Hexadecimal.bytes) ?? [] }
}
