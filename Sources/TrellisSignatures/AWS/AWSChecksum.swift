import CurlEngine
import FoundationEssentials

/// A checksum that is sent after the last chunk of a body to Amazon S3.
public enum AWSChecksum: String, Sendable, Hashable, CaseIterable {
    /// CRC-32C (RFC 3385).
    case crc32c
    /// SHA-256.
    case sha256

    /// The name of the field behind the body.
    var field: String { "x-amz-checksum-\(rawValue)" }

    /// The number of characters of the value, in Base64.
    var length: Int { self == .crc32c ? 8 : 44 }
}

/// A checksum of bytes that arrive in parts.
struct RunningAWSChecksum {
    private let algorithm: AWSChecksum
    private var crc: UInt32 = ~0
    private let digest: MessageDigest?

    init(_ algorithm: AWSChecksum) {
        self.algorithm = algorithm
        digest = algorithm == .sha256 ? MessageDigest(.sha256) : nil
    }

    mutating func update(_ bytes: Data) {
        switch algorithm {
        case .crc32c: for byte in bytes { crc = Self.table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] ^ crc >> 8 }
        case .sha256: digest?.update(bytes)
        }
    }

    /// Returns the checksum in Base64; `nil` if the process cannot compute it. Called once, at the end.
    func finish() -> String? {
        switch algorithm {
        case .crc32c:
            Data(stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: ~crc >> $0) })
                .base64EncodedString()
        case .sha256: digest?.finishBytes().map { Data($0).base64EncodedString() }
        }
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(index) { crc, _ in crc & 1 == 0 ? crc >> 1 : crc >> 1 ^ 0x82F6_3B78 }
    }
}
