import FoundationEssentials
import TrellisTesting

@testable import CurlEngine

/// The outcome of decoding a body.
struct Decoded: Equatable {
    var bytes: [UInt8] = []
    var failure: ContentDecoder.Failure?
    var largestPiece = 0

    /// Decodes a body in chunks of these sizes, the last of which is repeated. Stops the decoder after every piece if `stopping` is `true`.
    init(_ body: [UInt8], codings: [String], chunks: [Int] = [.max], stopping: Bool = false) {
        guard let decoder = ContentDecoder(codings: codings) else { return }
        var sizes = chunks[...]
        var rest = body[...]
        do throws(ContentDecoder.Failure) {
            while !rest.isEmpty {
                let size = sizes.count > 1 ? sizes.removeFirst() : sizes[sizes.startIndex]
                let chunk = [UInt8](rest.prefix(size))
                rest = rest.dropFirst(size)
                try decoder.decode(chunk) { take($0, goesOn: !stopping) }
                while decoder.isHeldUp { try decoder.resume { take($0, goesOn: !stopping) } }
            }
            try decoder.finish()
        } catch {
            failure = error
        }
    }

    private mutating func take(_ piece: RawSpan, goesOn: Bool) -> Bool {
        bytes += [UInt8](copying: piece)
        largestPiece = max(largestPiece, piece.byteCount)
        return goesOn
    }
}

extension ContentDecoder {
    func decode(_ bytes: [UInt8], into take: (RawSpan) -> Bool) throws(Failure) {
        try decode(unsafe bytes.span.bytes, into: take)
    }
}

extension SeededGenerator {
    /// Returns bytes that cannot be compressed.
    mutating func bytes(_ count: Int) -> Data {
        var bytes = Data(capacity: count + 8)
        while bytes.count < count { unsafe withUnsafeBytes(of: next()) { unsafe bytes.append(contentsOf: $0) } }
        return bytes.prefix(count)
    }
}

/// Bodies for the tests of content codings.
enum Coded {
    /// Returns text that compresses like natural text, with some noise.
    static func text(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SeededGenerator(seed: seed)
        let words = ["trellis", "vine", "leaf", "grows", "slowly", "\u{1F33F}", "and", "\n"]
        var text: [UInt8] = []
        while text.count < count {
            text += (words.randomElement(using: &random) ?? "").utf8
            text.append(UInt8.random(in: 32...40, using: &random))
        }
        return [UInt8](text.prefix(count))
    }

    /// Encodes a body with each coding in turn, in chunks.
    static func encode(_ body: [UInt8], _ codings: ContentCoding..., chunk: Int = 10_000) throws -> [UInt8] {
        var body = body
        for coding in codings {
            guard let encoder = ContentEncoder(coding) else { return [] }
            var result = Data()
            var rest = body[...]
            while !rest.isEmpty {
                result += try encoder.encode(Data(rest.prefix(chunk)))
                rest = rest.dropFirst(chunk)
            }
            body = [UInt8](result + (try encoder.encode(Data(), isLast: true)))
        }
        return body
    }
}
