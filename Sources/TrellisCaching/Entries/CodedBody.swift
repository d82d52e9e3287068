import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The decoding of a body that was received, or stored, in its content codings.
struct CodedBody: Sendable {
    private let decoder: BodyDecoder

    /// Creates the decoding of a body; `nil` if the body has no content coding.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/contentCoding`` for a coding that is not supported.
    init?(_ headers: HTTPFields) throws(TrellisError) {
        let codings = Self.codings(headers)
        guard !codings.isEmpty else { return nil }
        guard let decoder = BodyDecoder(codings: codings) else {
            throw Self.error("the content coding is not supported: \(codings.joined(separator: ", "))")
        }
        self.decoder = decoder
    }

    /// Returns the content codings of a body, in the order in which they were applied (RFC 9110, section 8.4).
    static func codings(_ headers: HTTPFields) -> [String] {
        guard headers.contains(.contentEncoding) else { return [] }
        return headers[values: .contentEncoding].flatMap { FieldScanner.elements(of: $0) }
            .map { String(Substring($0.utf8.trimmingBlanks)).lowercasedASCII() }
            .filter { !$0.isEmpty && !$0.hasSameBytes(as: "identity") }
    }

    /// Returns a complete body without its codings.
    ///
    /// - Parameter limit: The largest number of bytes of the result.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/contentCoding``, or of kind ``TrellisError/Kind/bodyTooLarge``.
    func decoded(_ body: Data, limit: Int) throws(TrellisError) -> Data {
        let result = try failing { () throws(ContentDecoder.Failure) in try decoder.decoded(body, limit: limit) }
        guard let result else {
            throw TrellisError(.invalidResponse(.bodyTooLarge(limit: limit)), phase: .receiving)
        }
        return result
    }

    /// Decodes the next bytes, and returns the first piece of the result; `nil` if more bytes are needed for one.
    func decode(_ bytes: Data) throws(TrellisError) -> Data? {
        try failing { () throws(ContentDecoder.Failure) in try decoder.decode(bytes) }
    }

    /// Returns the next piece of the bytes that were decoded last; `nil` if there is none.
    func next() throws(TrellisError) -> Data? {
        try failing { () throws(ContentDecoder.Failure) in try decoder.next() }
    }

    /// Checks that the body was complete.
    func finish() throws(TrellisError) { try failing { () throws(ContentDecoder.Failure) in try decoder.finish() } }

    private func failing<Value>(_ body: () throws(ContentDecoder.Failure) -> Value) throws(TrellisError) -> Value {
        do throws(ContentDecoder.Failure) {
            return try body()
        } catch {
            throw Self.error(error.message)
        }
    }

    private static func error(_ reason: String) -> TrellisError {
        TrellisError(.invalidResponse(.contentCoding(reason)), phase: .receiving)
    }
}
