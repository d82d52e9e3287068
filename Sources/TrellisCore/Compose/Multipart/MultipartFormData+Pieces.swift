import CurlEngine
import FoundationEssentials

extension MultipartFormData {
    /// Returns the pieces to send, in order: bytes, files and streams. Forms inside the form are replaced by their pieces.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for a part that cannot be written.
    package func pieces() throws(TrellisError) -> [RequestBody.Source] {
        var pieces = PieceList()
        try write(to: &pieces, inside: [])
        return pieces.all
    }

    /// Appends the form's pieces; `outer` holds the boundaries of the forms around this form.
    private func write(to pieces: inout PieceList, inside outer: [String]) throws(TrellisError) {
        guard MultipartBoundary.isValid(boundary) else {
            throw TrellisError(.invalidRequest(.body("\(boundary.debugDescription) is not a valid boundary")))
        }
        // The boundary line of the inner form would end a part of the outer form.
        guard !outer.contains(where: boundary.hasBytePrefix) else {
            throw TrellisError(.invalidRequest(.body("a nested form's boundary begins with the outer form's")))
        }
        for part in parts {
            pieces.append("--\(boundary)\r\n".utf8)
            pieces.append(try part.head(in: subtype))
            if case .multipart(let inner) = part.body.source {
                try inner.write(to: &pieces, inside: outer + [boundary])
            } else {
                pieces.append(part.body.source)
            }
            pieces.append("\r\n".utf8)
        }
        pieces.append("--\(boundary)--\r\n".utf8)
    }
}

extension [RequestBody.Source] {
    /// Returns the bytes of all pieces joined; `nil` if a piece is not in memory.
    package func joined() -> Data? {
        var all = Data()
        for piece in self {
            guard case .data(let bytes) = piece else { return nil }
            all += bytes
        }
        return all
    }
}

/// The pieces of a body, in which small neighbours are joined.
private struct PieceList {
    /// The size in bytes up to which a piece is copied to be joined with its neighbours.
    static let largestCopy = 64 << 10

    private var pieces: [RequestBody.Source] = []
    /// The joined bytes after the last piece.
    private var small = Data()

    var all: [RequestBody.Source] { small.isEmpty ? pieces : pieces + [.data(small)] }

    mutating func append(_ bytes: some Sequence<UInt8>) { small.append(contentsOf: bytes) }

    mutating func append(_ source: RequestBody.Source) {
        if case .data(let data) = source, data.count <= Self.largestCopy {
            small += data
        } else {
            if !small.isEmpty { pieces.append(.data(small)) }
            pieces.append(source)
            small = Data()
        }
    }
}
