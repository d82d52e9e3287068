import CurlEngine
public import FoundationEssentials

/// The digest that a file is to have, which is computed while it is downloaded.
///
/// ```swift
/// session.download(url, to: .file("image.iso"), checksum: .sha256("9f86d081…"))
/// ```
public struct Checksum: Sendable {
    /// A digest that is built in: computed by the OpenSSL that libcurl has loaded or that of the system.
    public enum Algorithm: String, Sendable, Hashable, CaseIterable {
        /// SHA-256 (FIPS 180-4).
        case sha256
        /// SHA-512 (FIPS 180-4).
        case sha512

        /// The running process can compute it.
        public var isAvailable: Bool { digest.isAvailable }

        /// Bytes of a digest.
        var length: Int { self == .sha256 ? 32 : 64 }

        fileprivate var digest: MessageDigest.Algorithm { self == .sha256 ? .sha256 : .sha512 }
    }

    /// What computes it, for messages.
    public let name: String
    /// The bytes that it is to be.
    public let expected: [UInt8]
    /// `nil` where the running process cannot.
    let makeDigest: @Sendable () -> (any DigestFunction)?

    /// A digest that is built in.
    public init(_ algorithm: Algorithm, _ expected: some Sequence<UInt8>) {
        self.init(name: algorithm.rawValue, expected) {
            MessageDigest(algorithm.digest).map { BuiltInDigest(digest: $0) }
        }
    }

    /// A digest of your own, for example of swift-crypto.
    ///
    /// - Parameters:
    ///   - name: What it is called in messages.
    ///   - expected: The bytes that it is to be.
    ///   - digest: Makes a new one.
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

    /// SHA-256, in hexadecimal digits. Anything else makes the download fail before it begins.
    public static func sha256(_ digits: String) -> Checksum { Checksum(.sha256, Hexadecimal.bytes(digits) ?? []) }

    /// SHA-512, in hexadecimal digits. Anything else makes the download fail before it begins.
    public static func sha512(_ digits: String) -> Checksum { Checksum(.sha512, Hexadecimal.bytes(digits) ?? []) }

    /// Reads `sha256:…` or `sha512:…` with hexadecimal digits; `nil` for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let algorithm = Algorithm(rawValue: parts[0].lowercased()),
            let bytes = Hexadecimal.bytes(String(parts[1])), bytes.count == algorithm.length
        else { return nil }
        self.init(algorithm, bytes)
    }

    /// Why it cannot be checked; `nil`: it can.
    func problem() -> TrellisError? {
        if expected.isEmpty { return TrellisError(.invalidRequest(.checksum("\(name): no hexadecimal digits"))) }
        if let algorithm = Algorithm(rawValue: name), expected.count != algorithm.length {
            return TrellisError(
                .invalidRequest(.checksum("\(name) has \(algorithm.length) bytes, not \(expected.count)")))
        }
        return makeDigest() == nil ? TrellisError(.unsupported(name)) : nil
    }
}

/// Computes a digest of bytes that come bit by bit, in the order in which they come.
public protocol DigestFunction {
    /// Takes more bytes.
    mutating func update(_ bytes: Data)

    /// The digest of all bytes. Called once, at the end.
    mutating func finish() -> [UInt8]
}

/// That of the OpenSSL at hand. A failure of the library is a digest that no file has.
private struct BuiltInDigest: DigestFunction {
    let digest: MessageDigest

    mutating func update(_ bytes: Data) { digest.update(bytes) }

    mutating func finish() -> [UInt8] { digest.finish().flatMap(Hexadecimal.bytes) ?? [] }
}

/// Bytes as digits.
enum Hexadecimal {
    /// `nil` where it is not pairs of digits.
    static func bytes(_ text: String) -> [UInt8]? {
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    /// The digits of bytes, in lower case.
    static func text(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
