import CurlEngine
import FoundationEssentials
import HTTPTypes

/// Hands out the parts of a multipart body one after the other, to the loop over the parts and to those over their bodies.
final class MultipartReader: Sendable {
    private struct State: Sendable {
        var reader: BodyReader<MultipartParser>
        /// The present part, from 1 on.
        var part = 0
        var isInPart = false
    }

    /// `nil` while someone reads.
    private let state: Locked<State?>

    init(_ reader: BodyReader<MultipartParser>) { state = Locked(State(reader: reader)) }

    /// The next part, after what has not been read of the one before; `nil` at the end.
    func nextPart() async throws -> (number: Int, head: HTTPFields)? {
        try await exclusively { state in
            while let piece = try await state.reader.next() {
                guard case .head(let head) = piece else { continue }
                state.part += 1
                state.isInPart = true
                return (state.part, head)
            }
            state.isInPart = false
            return nil
        }
    }

    /// The next bytes of a part, `nil` at its end.
    func nextBytes(of part: Int) async throws -> Data? {
        try await exclusively { state in
            guard part == state.part else { throw TrellisError(.other("the part has been left for the next one")) }
            guard state.isInPart else { return nil }
            if case .bytes(let bytes) = try await state.reader.next() { return bytes }
            state.isInPart = false
            return nil
        }
    }

    private func exclusively<Result>(_ body: (inout State) async throws -> Result) async throws -> Result {
        let taken = state.withLock { state in
            defer { state = nil }
            return state
        }
        guard var present = taken else { throw TrellisError(.other("a multipart body has one reader at a time")) }
        defer {
            let state = present
            self.state.withLock { $0 = state }
        }
        return try await body(&present)
    }
}
