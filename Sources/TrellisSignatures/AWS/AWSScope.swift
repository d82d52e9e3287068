import CurlEngine
import FoundationEssentials
import TrellisCore

/// What a key signs for: a day, a region and a service, with the key that is derived for them.
struct AWSScope: Sendable {
    static let algorithm = "AWS4-HMAC-SHA256"

    /// The time of the signature: `20150830T123600Z`.
    let date: String
    /// The day, the region and the service: `20150830/us-east-1/s3/aws4_request`.
    let text: String
    /// The name of the key, with the scope.
    let credential: String
    private let key: [UInt8]

    init(_ credentials: AWSCredentials, at date: Date, region: String, service: String) throws(TrellisError) {
        self.date = date.formatted(
            Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted, timeZone: .gmt))
        let parts = [String(self.date.prefix(8)), region, service, "aws4_request"]
        text = parts.joined(separator: "/")
        credential = "\(credentials.accessKeyID)/\(text)"
        var key = Array("AWS4\(credentials.secretAccessKey)".utf8)
        for part in parts { key = try Self.code(part, key) }
        self.key = key
    }

    /// Returns the signature of some lines in hexadecimal digits.
    func signature(of lines: [String]) throws(TrellisError) -> String {
        Hexadecimal.text(try Self.code(lines.joined(separator: "\n"), key))
    }

    /// Returns the signature of a request.
    func signature(of request: AWSCanonicalRequest) throws(TrellisError) -> String {
        try signature(of: [Self.algorithm, date, text, try Self.hash(request.bytes)])
    }

    /// Returns the SHA-256 of some bytes in hexadecimal digits.
    static func hash(_ bytes: some DataProtocol) throws(TrellisError) -> String {
        guard let hash = MessageDigest.bytes(bytes, .sha256) else { throw .noSHA256 }
        return Hexadecimal.text(hash)
    }

    private static func code(_ text: String, _ key: [UInt8]) throws(TrellisError) -> [UInt8] {
        guard let code = MessageAuthenticationCode.code(Array(text.utf8), key: key, .sha256) else { throw .noSHA256 }
        return code
    }
}

extension TrellisError {
    /// The error of a process that has no OpenSSL.
    static var noSHA256: TrellisError { TrellisError(.unsupported("SHA-256 without OpenSSL")) }
}
