/// Decodes the header blocks of one connection (RFC 7541).
package struct HPACKDecoder {
    /// A header block that cannot be decoded.
    package struct Malformed: Error {}

    package typealias Field = (name: String, value: String)

    /// The entries of the dynamic table, the newest one first.
    private var table: [Field] = []
    private var limit = 4096

    package init() {}

    /// Returns the fields of a complete block.
    package mutating func fields(of block: [UInt8]) throws -> [Field] {
        var fields: [Field] = []
        var rest = block[...]
        while let first = rest.first {
            if first & 0x80 != 0 {
                fields.append(try entry(Self.number(&rest, prefix: 7)))
            } else if first & 0xE0 == 0x20 {
                limit = try Self.number(&rest, prefix: 5)
                shrink()
            } else {
                let isIndexed = first & 0x40 != 0
                let index = try Self.number(&rest, prefix: isIndexed ? 6 : 4)
                let name = try index == 0 ? Self.text(&rest) : entry(index).name
                let field = (name: name, value: try Self.text(&rest))
                fields.append(field)
                guard isIndexed else { continue }
                table.insert(field, at: 0)
                shrink()
            }
        }
        return fields
    }

    private func entry(_ index: Int) throws -> Field {
        guard index > 0, index <= Self.staticTable.count + table.count else { throw Malformed() }
        return index <= Self.staticTable.count
            ? Self.staticTable[index - 1] : table[index - 1 - Self.staticTable.count]
    }

    /// Removes the oldest entries until the others fit.
    private mutating func shrink() {
        var size = table.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
        while size > limit, let last = table.popLast() { size -= last.name.utf8.count + last.value.utf8.count + 32 }
    }

    /// Reads an integer (section 5.1).
    private static func number(_ rest: inout ArraySlice<UInt8>, prefix: Int) throws -> Int {
        guard let first = rest.popFirst() else { throw Malformed() }
        let mask = 1 << prefix - 1
        var (number, shift) = (Int(first) & mask, 0)
        guard number == mask else { return number }
        while shift < 28 {
            guard let byte = rest.popFirst() else { throw Malformed() }
            number += Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return number }
            shift += 7
        }
        throw Malformed()
    }

    /// Reads a text (section 5.2).
    private static func text(_ rest: inout ArraySlice<UInt8>) throws -> String {
        let isCoded = rest.first.map { $0 & 0x80 != 0 } ?? false
        let count = try number(&rest, prefix: 7)
        guard count <= rest.count else { throw Malformed() }
        defer { rest = rest.dropFirst(count) }
        let bytes = rest.prefix(count)
        return String(decoding: isCoded ? try huffman.decode(bytes) : Array(bytes), as: UTF8.self)
    }

    private static let huffman = HuffmanCode(lengths: codeLengths)

    /// The lengths of the codes of all bytes and of the end (RFC 7541, appendix B). They determine the codes, which are canonical.
    private static let codeLengths: [UInt8] = [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
        28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
        8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
        13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
        28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
        22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
        22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
        19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
        25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
    ]

    /// The static table (RFC 7541, appendix A).
    private static let staticTable: [Field] = [
        (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
        (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
        (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
        ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
        ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
        ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
        ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""),
        ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""),
        ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""),
        ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""),
        ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""), ("retry-after", ""),
        ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""), ("transfer-encoding", ""),
        ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
    ]
}

/// A canonical Huffman code: the codes of a length are consecutive numbers, in the order of their symbols.
private struct HuffmanCode {
    /// The first code, and the symbols, of each length.
    private var levels: [(first: Int, symbols: [Int])] = []

    init(lengths: [UInt8]) {
        var code = 0
        for length in 0...30 {
            let symbols = lengths.indices.filter { lengths[$0] == length }
            levels.append((code, symbols))
            code = (code + symbols.count) << 1
        }
    }

    /// Decodes bytes. The bits after the last symbol are padding.
    func decode(_ bytes: ArraySlice<UInt8>) throws -> [UInt8] {
        var decoded: [UInt8] = []
        var (code, length) = (0, 0)
        for byte in bytes {
            for shift in (0..<8).reversed() {
                (code, length) = (code << 1 | Int(byte >> shift & 1), length + 1)
                guard length < levels.count else { throw HPACKDecoder.Malformed() }
                let index = code - levels[length].first
                guard levels[length].symbols.indices.contains(index) else { continue }
                guard let symbol = UInt8(exactly: levels[length].symbols[index]) else { throw HPACKDecoder.Malformed() }
                decoded.append(symbol)
                (code, length) = (0, 0)
            }
        }
        return decoded
    }
}
