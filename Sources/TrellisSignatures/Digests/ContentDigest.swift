import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// A hash function for `Content-Digest` and `Repr-Digest` (RFC 9530, section 5).
public enum ContentDigestAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// SHA-256.
    case sha256 = "sha-256"
    /// SHA-512.
    case sha512 = "sha-512"

    var function: MessageDigest.Algorithm {
        switch self {
        case .sha256: .sha256
        case .sha512: .sha512
        }
    }
}

/// A field with digests of a body (RFC 9530).
public enum ContentDigestField: String, Sendable, Hashable, CaseIterable {
    /// The digest of the bytes of this message, in its content coding (RFC 9530, section 2).
    case content = "Content-Digest"
    /// The digest of the complete representation, also where a message has a part of it (RFC 9530, section 3).
    case representation = "Repr-Digest"
}

/// The digests of one field, by the functions that are known here. Others are left out (RFC 9530, section 2).
struct ContentDigests {
    /// The promised digests; `nil` for a member that is no byte sequence.
    private let promised: [(algorithm: ContentDigestAlgorithm, digest: Data?)]

    /// Whether the field has a digest that can be computed.
    var isEmpty: Bool { promised.isEmpty }

    /// - Parameters:
    ///   - lines: The lines of the field. A field that is no dictionary counts as missing (RFC 9651, section 4.2).
    ///   - key: The only member that counts; `nil` if all do.
    init(_ lines: [String], key: String? = nil) {
        let dictionary = StructuredDictionary(parsing: lines) ?? StructuredDictionary()
        promised = ContentDigestAlgorithm.allCases.compactMap { algorithm in
            guard let member = dictionary[algorithm.rawValue], key?.hasSameBytes(as: algorithm.rawValue) ?? true else {
                return nil
            }
            guard case .item(let item) = member, case .bytes(let digest) = item.value else { return (algorithm, nil) }
            return (algorithm, digest)
        }
    }

    /// Returns why a body is another one than the promised one; `nil` if every digest is its own.
    func mismatch(_ body: Data) throws(TrellisError) -> String? {
        for (algorithm, digest) in promised {
            guard let found = MessageDigest.bytes(body, algorithm.function) else {
                throw TrellisError(.unsupported("\(algorithm.rawValue) without OpenSSL"))
            }
            guard let digest, digest.elementsEqual(found) else {
                let text = StructuredValue.bytes(Data(found)).text
                return
                    "its \(algorithm.rawValue) is \(text), not \(digest.map { StructuredValue.bytes($0).text } ?? "a digest")"
            }
        }
        return nil
    }
}
