import Testing

@testable import CurlEngine

/// The end of a chunked body is found, however the bytes are divided.
struct ChunkScannerTests {
    private func scan(_ text: String, inPiecesOf size: Int) -> ChunkScanner {
        var scanner = ChunkScanner()
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            unsafe bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { unsafe scanner.scan($0) }
        }
        return scanner
    }

    static let whole: [(String, Int64)] = [
        ("0\r\n\r\n", 0), ("3\r\nabc\r\n0\r\n\r\n", 3), ("A\r\n0123456789\r\n00\r\n\r\n", 10),
        ("1;name=value\r\na\r\n0;last\r\n\r\n", 1), ("2 \r\nab\r\n0\r\nX: y\r\nZ: 0\r\n\r\n", 2),
        ("5\r\n0\r\n\r\n\r\n0\r\n\r\n", 5), ("3\nabc\n0\n\n", 3),
    ]

    @Test(arguments: whole, [1, 2, 3, 1000])
    func theEndIsFound(_ row: (String, Int64), _ size: Int) {
        let scanner = scan(row.0, inPiecesOf: size)
        #expect(scanner.isAtEnd)
        #expect(scanner.payload == row.1)
    }

    @Test(arguments: whole)
    func andNotBefore(_ row: (String, Int64)) {
        for count in 0..<row.0.utf8.count {
            #expect(!scan(String(decoding: row.0.utf8.prefix(count), as: UTF8.self), inPiecesOf: 7).isAtEnd)
        }
    }

    @Test(arguments: [
        "x\r\n0\r\n\r\n", "\r\n\r\n", ";\r\n0\r\n\r\n", "-1\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFFF\r\n0\r\n\r\n",
    ])
    func whatIsMalformedHasNone(_ text: String) {
        #expect(!scan(text, inPiecesOf: 3).isAtEnd)
    }
}
