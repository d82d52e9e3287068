import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The digests in a response's fields (RFC 9530).
enum DigestFields {
    /// The bytes that the file of a download has, compared with the content of a response.
    enum Scope: Hashable, Sendable {
        /// The complete representation, which is also the content of the response.
        case representation
        /// The complete representation; the response may carry a part of it.
        case partOfRepresentation
        /// The content of the response alone: the part that the caller's request asks for.
        case content
    }

    /// Returns the strongest digest that can be computed and is a digest of the file's bytes; `nil` if there is none.
    ///
    /// `Repr-Digest` is the digest of the complete representation (RFC 9530, section 3), and `Content-Digest` the digest of the content
    /// of the message (RFC 9530, section 2).
    static func checksum(_ fields: HTTPFields, of scope: Scope) -> Checksum? {
        guard !Representation.isCoded(fields) else { return nil }
        let names: [String] =
            switch scope {
            case .representation: ["Repr-Digest", "Content-Digest"]
            case .partOfRepresentation: ["Repr-Digest"]
            case .content: ["Content-Digest"]
            }
        return names.lazy.compactMap { HTTPField.Name($0) }.compactMap { fields[$0] }.compactMap(strongest).first
    }

    /// Parses a dictionary of byte sequences such as `sha-256=:…:, sha-512=:…:` (RFC 9651, sections 3.2 and 3.3.5).
    private static func strongest(_ text: String) -> Checksum? {
        var found: [String: [UInt8]] = [:]
        for element in FieldScanner.elements(of: text) {
            var scanner = FieldScanner(element)
            guard let name = scanner.token(), scanner.take("=") else { continue }
            let bytes = scanner.bytes(before: ";").filter { $0 != 0x20 && $0 != 0x09 }
            guard bytes.count >= 2, bytes.first == UInt8(ascii: ":"), bytes.last == UInt8(ascii: ":"),
                let digest = Data(base64Encoded: Data(bytes.dropFirst().dropLast()))
            else { continue }
            // The last member of the same name counts.
            found[name] = Array(digest)
        }
        for algorithm in [Checksum.Algorithm.sha512, .sha256] where algorithm.isAvailable {
            if let digest = found[algorithm.fieldName], digest.count == algorithm.length {
                return Checksum(algorithm, digest)
            }
        }
        return nil
    }
}

extension Checksum.Algorithm {
    fileprivate var fieldName: String { self == .sha256 ? "sha-256" : "sha-512" }
}
