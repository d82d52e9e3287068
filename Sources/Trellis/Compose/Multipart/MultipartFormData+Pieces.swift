import CurlEngine
import FoundationEssentials

extension MultipartFormData {
    /// What is sent, in order: bytes, files and streams, no forms any more.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for a part that cannot be written.
    package func pieces() throws(TrellisError) -> [RequestBody.Source] {
        var pieces = PieceList()
        try write(to: &pieces, inside: [])
        return pieces.all
    }

    private func write(to pieces: inout PieceList, inside outer: [String]) throws(TrellisError) {
        guard MultipartBoundary.isValid(boundary) else {
            throw TrellisError(.invalidRequest(.body("\(boundary.debugDescription) cannot separate its parts")))
        }
        // The line of the inner one would end a part of the outer one.
        guard !outer.contains(where: boundary.hasBytePrefix) else {
            throw TrellisError(.invalidRequest(.body("a part has the boundary of the form around it")))
        }
        for part in parts {
            pieces.append("--\(boundary)\r\n\(try part.head(in: subtype))")
            if case .multipart(let inner) = part.body.source {
                try inner.write(to: &pieces, inside: outer + [boundary])
            } else {
                pieces.append(part.body.source)
            }
            pieces.append("\r\n")
        }
        pieces.append("--\(boundary)--\r\n")
    }
}

extension [RequestBody.Source] {
    /// The bytes of all pieces in one; `nil` where one is not in memory.
    package func joined() -> Data? {
        var all = Data()
        for piece in self {
            guard case .data(let bytes) = piece else { return nil }
            all += bytes
        }
        return all
    }
}

/// Pieces of a body, small neighbours put together.
private struct PieceList {
    /// Larger ones are not copied.
    static let largestCopy = 64 << 10

    private var pieces: [RequestBody.Source] = []
    private var small = Data()

    var all: [RequestBody.Source] { small.isEmpty ? pieces : pieces + [.data(small)] }

    mutating func append(_ text: String) { small += text.utf8 }

    mutating func append(_ source: RequestBody.Source) {
        if case .data(let data) = source, data.count <= Self.largestCopy {
            small += data
        } else {
            pieces = all + [source]
            small = Data()
        }
    }
}
