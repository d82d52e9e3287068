import CurlEngine
import FoundationEssentials

/// The text form of certificates (RFC 7468, section 5).
extension Certificate {
    private static let begin = "-----BEGIN CERTIFICATE-----"
    private static let end = "-----END CERTIFICATE-----"

    /// The certificate as text: the DER encoding in Base64, in lines of 64 characters between a line that begins and one that ends it.
    public var pemRepresentation: String {
        var lines = [Self.begin]
        var base64 = Substring(derRepresentation.base64EncodedString())
        while !base64.isEmpty {
            lines.append(String(base64.prefix(64)))
            base64 = base64.dropFirst(64)
        }
        return (lines + [Self.end]).joined(separator: "\n") + "\n"
    }

    /// Reads all certificates of a text, such as the contents of a PEM file, in their order. Other text, such as keys and comments,
    /// is skipped.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if the text has no certificate, or has one that is
    ///   malformed.
    public static func certificates(pemRepresentation text: String) throws(TrellisError) -> [Certificate] {
        var certificates: [Certificate] = []
        var rest = Substring(text).utf8
        while let start = rest.firstRange(of: begin.utf8) {
            rest = rest[start.upperBound...]
            guard let stop = rest.firstRange(of: end.utf8) else {
                throw TrellisError(.invalidRequest(.trustEvaluator("a certificate in the PEM text has no end")))
            }
            let base64 = rest[..<stop.lowerBound].filter { $0 != 0x20 && !(9...13).contains($0) }
            guard let bytes = Data(base64Encoded: Data(base64)) else {
                throw TrellisError(.invalidRequest(.trustEvaluator("a certificate in the PEM text is not Base64")))
            }
            certificates.append(try Certificate(derRepresentation: bytes))
            rest = rest[stop.upperBound...]
        }
        guard !certificates.isEmpty else {
            throw TrellisError(.invalidRequest(.trustEvaluator("the PEM text has no certificate")))
        }
        return certificates
    }
}
