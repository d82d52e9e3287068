import FoundationEssentials

/// The body of a response, or its beginning, as a step has received it.
package struct CapturedBody: Sendable {
    /// The status of the response.
    package var status: Int
    /// The time from the call to the first byte of the response, in nanoseconds, by which a recorder finds the exchange of the body.
    package var firstByte: Int64
    /// The content type; empty if the response has none.
    package let type: String
    /// The bytes that were kept.
    package private(set) var bytes = Data()
    /// The number of bytes that were received.
    package private(set) var size = 0

    /// Creates the body of a response before it is received.
    package init(_ response: Response) {
        status = response.status.code
        firstByte = response.metrics.firstByteTime
        type = response.headers[.contentType] ?? ""
    }

    /// Adds bytes, and keeps as many as the limit allows.
    package mutating func append(_ chunk: Data, limit: Int) {
        if bytes.count == size {
            bytes.append(chunk.prefix(limit - size))
            if chunk.count > limit - size { bytes = Self.beginning(of: bytes, limit: limit) }
        }
        size += chunk.count
    }

    /// Returns the beginning of bytes, which ends before a character that would be cut.
    package static func beginning(of bytes: Data, limit: Int) -> Data {
        let beginning = bytes.prefix(limit)
        for count in 0..<min(4, beginning.count) {
            let whole = beginning.dropLast(count)
            if String(validating: whole, as: UTF8.self) != nil { return whole }
        }
        return beginning
    }
}
