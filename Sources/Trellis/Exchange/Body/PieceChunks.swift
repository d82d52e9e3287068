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
    /// The length of all, where that of each is known.
    let length: Int64?

    /// Takes the pieces apart.
    ///
    /// - Parameter sizes: Of the files; without it this asks for them, and may wait for a disk.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/file``; of kind ``TrellisError/Kind/invalidRequest`` where the
    ///   lengths cannot be those of a body.
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

    /// The sum, `nil` where one of the lengths is not known.
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

    /// Looks whether a body can have the length that its maker has announced.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest``.
    static func check(length: Int64?) throws(TrellisError) {
        guard let length, length < 0 else { return }
        throw TrellisError(.invalidRequest(.body("its length is \(length)")))
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
