import CurlEngine
import FoundationEssentials
public import TrellisCore

/// A statement that another party has signed, such as a JWT (RFC 7523), and that a client shows instead of a secret.
public struct OAuthAssertion: Sendable, RedactedDescription {
    /// The largest size of a file with an assertion, in bytes.
    static let limit = 64 << 10

    private let make: @Sendable (String) async throws -> String

    /// Creates an assertion that a closure makes anew for each request.
    ///
    /// - Parameter make: Returns the assertion. Its argument is the URL of the token endpoint, the audience that most servers want in `aud`
    ///   (RFC 7523, section 3). What it throws reaches the caller unchanged.
    public init(_ make: @escaping @Sendable (_ audience: String) async throws -> String) { self.make = make }

    /// Returns the assertion in a file, such as the token of a workload that its platform renews. The file is read anew for each request.
    ///
    /// White space at the ends does not count. A file of more than 64 KiB is an error.
    public static func file(_ path: some FilePathConvertible) -> OAuthAssertion {
        let path = path.filePath
        return OAuthAssertion { _ in
            let data = try await BlockingThreadPool.tryingUnlessCancelled(at: FileSystem.folder(of: path)) {
                do throws(FileError) {
                    guard let file = try WholeFile.read(path: path, limit: limit) else {
                        throw FileError(reason: "there is no such file")
                    }
                    return file.data
                } catch { throw OAuthError.unusableFile(path: path, reason: error.reason) }
            }
            return String(decoding: data.trimming { [0x20, 0x09, 0x0A, 0x0D].contains($0) }, as: UTF8.self)
        }
    }

    /// Returns the text of the assertion for a token endpoint.
    func text(for audience: String) async throws -> String {
        let text = try await make(audience)
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw OAuthError.malformedAssertion
        }
        return text
    }
}

extension Data {
    /// Returns the bytes without those at the ends that a predicate names.
    fileprivate func trimming(_ isTrimmed: (UInt8) -> Bool) -> Data {
        guard let first = firstIndex(where: { !isTrimmed($0) }), let last = lastIndex(where: { !isTrimmed($0) }) else {
            return Data()
        }
        return self[first...last]
    }
}
