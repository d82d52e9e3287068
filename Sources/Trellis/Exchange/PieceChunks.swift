import CurlEngine
import FoundationEssentials

/// The pieces of a body as chunks, one after the other; files are read like ``FileChunks``.
struct PieceChunks: Sendable {
    private struct Piece {
        let source: RequestBody.Source
        /// `nil`: not known.
        let length: Int64?
    }

    private let pieces: [Piece]

    /// Finds the sizes of the files.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/file``.
    init(_ sources: [RequestBody.Source]) throws(TrellisError) {
        var pieces: [Piece] = []
        for source in sources {
            switch source {
            case .data(let data): pieces.append(Piece(source: source, length: Int64(data.count)))
            case .file(let path): pieces.append(Piece(source: source, length: try FileChunks.size(ofFileAt: path)))
            case .stream(let length, _, _): pieces.append(Piece(source: source, length: length))
            case .multipart(let form): pieces += try PieceChunks(form.pieces()).pieces
            }
        }
        self.pieces = pieces
    }

    /// The length of all, where that of each is known.
    var length: Int64? {
        pieces.reduce(0) { total, piece in
            guard let total, let length = piece.length else { return nil }
            return total + length
        }
    }

    /// All can be sent a second time.
    var isReplayable: Bool {
        pieces.allSatisfy { if case .stream(_, let isReplayable, _) = $0.source { isReplayable } else { true } }
    }

    /// Sends all pieces.
    func send(_ send: @escaping @Sendable (Data) async throws -> Void) async throws {
        for piece in pieces {
            switch piece.source {
            case .data(var rest):
                while !rest.isEmpty {
                    try await send(rest.prefix(FileChunks.chunkSize))
                    rest = rest.dropFirst(FileChunks.chunkSize)
                }
            case .file(let path):
                try await FileChunks.send(fileAt: path, length: piece.length ?? 0, send)
            case .stream(let length, _, let chunks):
                try await Self.send(chunks, length: length, send)
            case .multipart: break  // taken apart above
            }
        }
    }

    /// Every stream has to keep what it promised: what one has too much must not pass for what the next has too little.
    private static func send(
        _ chunks: RequestBody.Chunks, length: Int64?, _ send: @escaping @Sendable (Data) async throws -> Void
    ) async throws {
        guard let length else { return try await chunks(send) }
        let sent = Locked(Int64(0))
        try await chunks { chunk in
            let total = sent.withLock { total in
                total += Int64(chunk.count)
                return total
            }
            guard total <= length else {
                throw TrellisError(.bodyFailed(.lengthMismatch(promised: length, given: total)))
            }
            try await send(chunk)
        }
        let total = sent.withLock { $0 }
        guard total == length else {
            throw TrellisError(.bodyFailed(.lengthMismatch(promised: length, given: total)))
        }
    }
}
