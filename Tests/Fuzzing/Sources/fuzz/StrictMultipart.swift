/// A parser of multipart bodies that follows RFC 2046 strictly: no preamble, no epilogue, no padding, no bare line feeds.
struct StrictMultipart {
    struct Malformed: Error { let reason: String }

    struct Part: Equatable {
        /// The lines of the fields, without the line ends.
        var head: [[UInt8]]
        var content: [UInt8]
    }

    private var rest: ArraySlice<UInt8>
    private let line: [UInt8]

    /// Returns the parts of a body.
    ///
    /// - Throws: ``Malformed`` if the body violates the RFC.
    static func parts(of bytes: [UInt8], boundary: String) throws -> [Part] {
        var reader = StrictMultipart(bytes: bytes, boundary: boundary)
        return try reader.parts()
    }

    private init(bytes: [UInt8], boundary: String) {
        rest = bytes[...]
        line = Array("\r\n--\(boundary)".utf8)
    }

    private mutating func parts() throws -> [Part] {
        try take(line.dropFirst(2), "the first boundary")
        var parts: [Part] = []
        while !rest.starts(with: "--".utf8) {
            try take("\r\n".utf8, "the end of a boundary's line")
            let head = try head()
            parts.append(Part(head: head, content: try content()))
        }
        try take("--\r\n".utf8, "the last boundary")
        guard rest.isEmpty else { throw Malformed(reason: "something after the last boundary") }
        return parts
    }

    private mutating func take(_ bytes: some Sequence<UInt8>, _ what: String) throws {
        let bytes = Array(bytes)
        guard rest.starts(with: bytes) else { throw Malformed(reason: "no \(what)") }
        rest = rest.dropFirst(bytes.count)
    }

    private mutating func head() throws -> [[UInt8]] {
        var lines: [[UInt8]] = []
        while !rest.starts(with: "\r\n".utf8) {
            let line = rest.prefix { $0 != 13 && $0 != 10 }
            rest = rest.dropFirst(line.count)
            try take("\r\n".utf8, "the end of a field")
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
                line[..<colon].allSatisfy({ 0x21...0x7E ~= $0 && !"()<>@,;\\\"/[]?={}".utf8.contains($0) })
            else { throw Malformed(reason: "a line that is no field") }
            lines.append(Array(line))
        }
        try take("\r\n".utf8, "the empty line")
        return lines
    }

    /// Returns the content up to the next boundary. The line break of the boundary is not part of the content.
    private mutating func content() throws -> [UInt8] {
        var content: [UInt8] = []
        while !rest.isEmpty {
            if rest.first == 13, rest.starts(with: line) {
                rest = rest.dropFirst(line.count)
                return content
            }
            let run = 1 + rest.dropFirst().prefix { $0 != 13 }.count
            content += rest.prefix(run)
            rest = rest.dropFirst(run)
        }
        throw Malformed(reason: "no last boundary")
    }
}
