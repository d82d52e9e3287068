import FoundationEssentials
import Testing

@testable import CurlEngine

/// Content codings are decoded, and applied.
struct ContentDecoderTests {
    static let hello = "hello, hello, hello, hello"
    /// The text `hello`, as Python's libraries encode it.
    static let fixed = [
        ("gzip", "H4sIAAAAAAACA8tIzcnJ11HIwKQAVaOCdxoAAAA="),
        ("x-gzip", "H4sIAAAAAAACA8tIzcnJ11HIwKQAVaOCdxoAAAA="),
        ("GZip", "H4sIAAAAAAACA8tIzcnJ11HIwKQAVaOCdxoAAAA="),
        ("deflate", "eJzLSM3JyddRyMCkAHwWCTU="),
        ("deflate", "y0jNycnXUcjApAA="),
        ("br", "GxkA+I2Ubt5ECVKGlmwsbzFPJLDjAA=="),
        ("zstd", "KLUv/SQabQAAOGhlbGxvLCABAEqKEY+ZUzc="),
    ]
    /// The codings that this process can apply. gzip and deflate are always among them.
    static let codings = ContentCoding.allCases.filter(\.canEncode)

    private static func decoded(_ base64: String) throws -> [UInt8] {
        [UInt8](try #require(Data(base64Encoded: base64)))
    }

    @Test(arguments: ContentCoding.allCases)
    func gzipAndDeflateAreEverywhere(_ coding: ContentCoding) {
        if coding == .gzip || coding == .deflate { #expect(coding.canDecode && coding.canEncode) }
    }

    @Test(arguments: fixed)
    func whatOthersEncodeIsDecoded(_ coding: String, _ base64: String) throws {
        try #require(try #require(ContentCoding(name: coding)).canDecode)
        for size in [1, 2, 3, .max] {
            let result = Decoded(try Self.decoded(base64), codings: [coding], chunks: [size])
            #expect(result.bytes == [UInt8](Self.hello.utf8), "chunks of \(size)")
            #expect(result.failure == nil)
        }
    }

    /// A body that is cut after any of its bytes is an error. A body without bytes is an empty one.
    @Test(arguments: fixed)
    func aBodyThatEndsEarlyIsNoticed(_ name: String, _ base64: String) throws {
        let coding = try #require(ContentCoding(name: name)), body = try Self.decoded(base64)
        for count in 1..<body.count {
            let result = Decoded([UInt8](body.prefix(count)), codings: [name])
            #expect(result.failure == .cutShort(coding), "after \(count) bytes")
            #expect([UInt8](Self.hello.utf8).starts(with: result.bytes))
        }
        #expect(Decoded([], codings: [name]) == Decoded([], codings: []))
    }

    @Test(arguments: codings, [[1], [7, 100, 3, 4096], [65536], [.max]])
    func whatIsEncodedIsDecodedHoweverItIsCut(_ coding: ContentCoding, _ chunks: [Int]) throws {
        let text = Coded.text(100_000)
        let body = try Coded.encode(text, coding)
        #expect(body.count < text.count)
        let result = Decoded(body, codings: [coding.rawValue], chunks: chunks)
        #expect(result.bytes == text)
        #expect(result.failure == nil)
        #expect(result.largestPiece <= ContentDecoder.pieceSize)
    }

    @Test(arguments: codings, [[1], [5000, 1], [.max]])
    func aReaderThatStopsAfterEveryPieceGetsAll(_ coding: ContentCoding, _ chunks: [Int]) throws {
        let text = Coded.text(ContentDecoder.pieceSize + 1000)
        let result = Decoded(
            try Coded.encode(text, coding), codings: [coding.rawValue], chunks: chunks, stopping: true)
        #expect(result.bytes == text)
        #expect(result.failure == nil)
    }

    @Test(arguments: codings)
    func emptyBodiesAndRoundSizesSurvive(_ coding: ContentCoding) throws {
        for count in [0, 1, ContentDecoder.pieceSize - 1, ContentDecoder.pieceSize, 2 * ContentDecoder.pieceSize] {
            let text = Coded.text(count)
            let body = try Coded.encode(text, coding)
            #expect(!body.isEmpty)
            let result = Decoded(body, codings: [coding.rawValue])
            #expect(result.bytes == text && result.failure == nil, "\(count) bytes")
        }
    }

    // MARK: Several codings

    @Test(arguments: [[1], [3, 1000], [.max]], [true, false])
    func codingsOnCodingsAreTakenOffInReverse(_ chunks: [Int], _ stopping: Bool) throws {
        let text = Coded.text(100_000)
        let body = try Coded.encode(text, .gzip, .deflate, .gzip)
        let names = ["gzip", "identity", "deflate", "x-gzip"]
        let result = Decoded(body, codings: names, chunks: chunks, stopping: stopping)
        #expect(result.bytes == text)
        #expect(result.failure == nil)
        #expect(Decoded(body, codings: ["gzip", "gzip", "deflate"]).failure == .corrupt(.deflate))
    }

    @Test func anInnerCodingThatEndsEarlyIsNoticed() throws {
        let inner = try Coded.encode(Coded.text(1000), .deflate).dropLast()
        let body = try Coded.encode([UInt8](inner), .gzip)
        #expect(Decoded(body, codings: ["deflate", "gzip"]).failure == .cutShort(.deflate))
    }

    @Test func tooManyAndUnknownCodingsAreRefused() {
        #expect(ContentDecoder(codings: Array(repeating: "gzip", count: 5)) != nil)
        #expect(ContentDecoder(codings: Array(repeating: "gzip", count: 6)) == nil)
        #expect(ContentDecoder(codings: ["gzip", "banana"]) == nil)
        #expect(ContentDecoder(codings: ["compress"]) == nil)
    }

    @Test func withoutACodingEverythingPasses() {
        let text = Coded.text(10_000)
        #expect(Decoded(text, codings: ["identity"], chunks: [100, 7], stopping: true).bytes == text)
    }
}
