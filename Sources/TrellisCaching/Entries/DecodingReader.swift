import CurlEngine
import FoundationEssentials
import TrellisCore

/// The one reader of a body at a time, which gets the body without its content codings, and no more bytes than the limit.
final class DecodingReader: Sendable {
    private let coded: CodedBody?
    private let limit: ByteLimit
    private let state = Locked((isReading: false, count: 0))

    /// - Parameters:
    ///   - coded: The decoding of the body; `nil` if the body has no content coding.
    ///   - limit: The limit on the number of bytes that the reader gets.
    init(_ coded: CodedBody?, limit: ByteLimit) { (self.coded, self.limit) = (coded, limit) }

    /// Begins to read.
    ///
    /// - Throws: ``TrellisError`` if another task reads.
    func begin() throws {
        let isFree = state.withLock { state in
            defer { state.isReading = true }
            return !state.isReading
        }
        guard isFree else { throw TrellisError.secondReader }
    }

    func end() { state.withLock { $0.isReading = false } }

    /// Returns the next piece; `nil` at the end.
    ///
    /// - Parameter chunk: Returns the next bytes in their content coding; `nil` at the end.
    func piece(_ chunk: () async throws -> Data?) async throws -> Data? {
        guard let piece = try await decoded(chunk) else { return nil }
        let count = state.withLock { state in
            state.count += piece.count
            return state.count
        }
        guard !limit.isExceeded(by: count) else { throw TrellisError.bodyTooLarge(limit) }
        return piece
    }

    private func decoded(_ chunk: () async throws -> Data?) async throws -> Data? {
        guard let coded else { return try await chunk() }
        while true {
            if let piece = try coded.next() { return piece }
            guard let bytes = try await chunk() else {
                try coded.finish()
                return nil
            }
            if let piece = try coded.decode(bytes) { return piece }
        }
    }
}

extension TrellisError {
    /// Returns the error of a body with more bytes than the caller accepts.
    static func bodyTooLarge(_ limit: ByteLimit) -> TrellisError {
        TrellisError(.invalidResponse(.bodyTooLarge(limit: limit.bytes)), phase: .receiving)
    }
}
