import CurlEngine
import FoundationEssentials

/// The pieces of a body as chunks, one after the other. Files are read as in ``FileChunks``.
struct PieceChunks: Sendable {
    /// A source in the body, with its length.
    private struct Piece {
        let source: RequestBody.Source
        /// The length in bytes; `nil` if not known.
        let length: Int64?
    }

    private let pieces: [Piece]
    /// The length of all pieces in bytes; `nil` if the length of one piece is not known.
    let length: Int64?

    /// Splits the forms among the sources into their pieces, and finds the lengths of all pieces.
    ///
    /// - Parameter sizes: The sizes of the files. A size that is missing is read from the file system, which may block on a disk.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/file``; of kind ``TrellisError/Kind/invalidRequest`` if a length is
    ///   negative or their sum overflows.
    init(_ sources: [RequestBody.Source], _ sizes: FileSizes? = nil) throws(TrellisError) {
        var pieces: [Piece] = []
        for source in sources {
            switch source {
            case .data(let data): pieces.append(Piece(source: source, length: Int64(data.count)))
            case .file(let path):
                pieces.append(Piece(source: source, length: try FileChunks.size(ofFileAt: path, sizes)))
            case .stream(let length, _, _): pieces.append(Piece(source: source, length: length))
            case .multipart(let form): pieces += try PieceChunks(form.pieces(), sizes).pieces
            }
        }
        self.pieces = pieces
        length = try Self.length(of: pieces)
    }

    /// Returns the sum of the lengths in bytes; `nil` if one of them is not known.
    private static func length(of pieces: [Piece]) throws(TrellisError) -> Int64? {
        var (total, isKnown) = (Int64(0), true)
        for piece in pieces {
            try check(length: piece.length)
            let (sum, overflow) = total.addingReportingOverflow(piece.length ?? 0)
            guard !overflow else {
                throw TrellisError(.invalidRequest(.body("its parts are longer than can be counted")))
            }
            total = sum
            if piece.length == nil { isKnown = false }
        }
        return isKnown ? total : nil
    }

    /// Checks that the length that the source of a body announces is not negative.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest``.
    static func check(length: Int64?) throws(TrellisError) {
        guard let length, length < 0 else { return }
        throw TrellisError(.invalidRequest(.body("its length is \(length)")))
    }

    /// Whether all pieces can be sent a second time.
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
            case .multipart: break  // Multipart forms were split into their pieces above.
            }
        }
    }

    /// Sends a stream and checks that its chunks have the announced length, so that surplus bytes of one stream cannot replace missing
    /// bytes of the next one.
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
