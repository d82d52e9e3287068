import FoundationEssentials
import HTTPTypes

/// The digests of its representation in a response's fields (RFC 9530).
enum DigestFields {
    /// Returns the strongest digest that can be computed: of `Repr-Digest`, and of `Content-Digest` where the content is the
    /// representation, byte for byte.
    static func checksum(_ fields: HTTPFields, isWhole: Bool) -> Checksum? {
        guard !Representation.isCoded(fields) else { return nil }
        let names = isWhole ? ["Repr-Digest", "Content-Digest"] : ["Repr-Digest"]
        return names.lazy.compactMap { HTTPField.Name($0) }.compactMap { fields[$0] }.compactMap(strongest).first
    }

    /// Parses a dictionary of byte sequences such as `sha-256=:…:, sha-512=:…:` (RFC 9651, sections 3.2 and 3.3.5).
    private static func strongest(_ text: String) -> Checksum? {
        var found: [String: [UInt8]] = [:]
        for element in FieldScanner.elements(of: text) {
            var scanner = FieldScanner(element)
            guard let name = scanner.token(), scanner.take("=") else { continue }
            let value = element[element.index(after: element.firstIndex(of: "=") ?? element.startIndex)...]
            let bytes = value.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
            guard bytes.count >= 2, bytes.first == ":", bytes.last == ":",
                let digest = Data(base64Encoded: String(bytes.dropFirst().dropLast()))
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
