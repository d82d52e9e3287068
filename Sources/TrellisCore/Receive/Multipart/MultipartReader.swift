import CurlEngine
import FoundationEssentials
import HTTPTypes

/// A reader of the parts of a multipart body one after the other, shared by the loop over the parts and the loops over their bodies.
final class MultipartReader: Sendable {
    private struct State: Sendable {
        var reader: BodyReader<MultipartParser>
        /// The number of the present part, from 1 on.
        var part = 0
        var isInPart = false
    }

    /// The state of the reader; `nil` while a read is under way.
    private let state: Locked<State?>

    init(_ reader: BodyReader<MultipartParser>) { state = Locked(State(reader: reader)) }

    /// Returns the next part, after dropping the unread rest of the part before; `nil` at the end.
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

    /// Returns the next bytes of a part; `nil` at its end.
    func nextBytes(of part: Int) async throws -> Data? {
        try await exclusively { state in
            guard part == state.part else {
                throw state.reader.completed(TrellisError(.other("the next part has been requested already")))
            }
            guard state.isInPart else { return nil }
            if case .bytes(let bytes) = try await state.reader.next() { return bytes }
            state.isInPart = false
            return nil
        }
    }

    /// Returns an error about a part with the request and the response of the body, unless the body has been released or is being read.
    func completed(_ error: TrellisError) -> any Error {
        state.withLock { $0 }?.reader.completed(error) ?? error
    }

    /// Runs `body` with the state.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/other`` while another read is under way; the error that `body` throws.
    private func exclusively<Result>(_ body: (inout State) async throws -> Result) async throws -> Result {
        let taken = state.withLock { state in
            defer { state = nil }
            return state
        }
        guard var present = taken else {
            throw TrellisError(.other("a multipart body can have one reader at a time"), phase: .receiving)
        }
        defer {
            let state = present
            self.state.withLock { $0 = state }
        }
        return try await body(&present)
    }
}
