import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import CurlEngine

/// Coded bodies that are malformed result in errors.
struct ContentDecoderFailureTests {
    static let codings = ContentDecoderTests.codings

    @Test(arguments: ContentCoding.allCases.filter(\.canDecode), [1, .max])
    func plainTextIsCorrupt(_ coding: ContentCoding, _ size: Int) {
        let result = Decoded([UInt8]("this is no stream".utf8), codings: [coding.rawValue], chunks: [size])
        #expect(result.failure == .corrupt(coding))
    }

    /// A damaged byte results in an error or in the correct body, never in a wrong one, and the result is the same for one chunk and for
    /// many.
    @Test(arguments: codings)
    func aDamagedByteIsNoticedOrHarmless(_ coding: ContentCoding) throws {
        let text = Coded.text(600)
        let body = try Coded.encode(text, coding)
        for index in body.indices {
            var damaged = body
            damaged[index] ^= 0x41
            let whole = Decoded(damaged, codings: [coding.rawValue])
            let cut = Decoded(damaged, codings: [coding.rawValue], chunks: [1])
            #expect(whole.failure == cut.failure, "byte \(index)")
            // Brotli has no checksum.
            if whole.failure == nil, coding != .brotli { #expect((whole.bytes == text) as Bool, "byte \(index)") }
            #expect(whole.bytes.count < 100 * text.count)
        }
    }

    /// The bytes before the damage are delivered; then the failure is thrown, and the next call throws it again.
    @Test func aFailureComesAfterWhatWasGood() throws {
        let text = Coded.text(100_000)
        var body = try Coded.encode(text, .gzip)
        body[body.count - 5] ^= 1
        let decoder = try #require(ContentDecoder(codings: ["gzip"]))
        var got: [UInt8] = []
        for _ in 0..<2 {
            #expect(throws: ContentDecoder.Failure.corrupt(.gzip)) {
                try decoder.decode(body) {
                    got += [UInt8](copying: $0)
                    return true
                }
            }
        }
        #expect(got == text)
        #expect(throws: ContentDecoder.Failure.corrupt(.gzip)) { try decoder.finish() }
    }

    // MARK: Bytes after the end

    @Test(arguments: ["deflate", "br", "gzip", "zstd"], [1, .max])
    func bytesAfterTheEndAreNoticed(_ name: String, _ size: Int) throws {
        let coding = try #require(ContentCoding(name: name))
        guard coding.canEncode else { return }
        let body = try Coded.encode(Coded.text(500), coding) + [UInt8]("garbage".utf8)
        let result = Decoded(body, codings: [name], chunks: [size])
        #expect(result.bytes == Coded.text(500))
        #expect(result.failure == .trailingBytes(coding))
    }

    @Test(arguments: codings.filter { $0 == .gzip || $0 == .zstd }, [1, 13, .max])
    func membersAndFramesAreOneBody(_ coding: ContentCoding, _ size: Int) throws {
        let parts = [Coded.text(3000), Coded.text(1), [], Coded.text(70_000, seed: 2)]
        let body = try parts.flatMap { try Coded.encode($0, coding) }
        let result = Decoded(body, codings: [coding.rawValue], chunks: [size])
        #expect(result.bytes == parts.flatMap { $0 })
        #expect(result.failure == nil)
        #expect(Decoded(body.dropLast(), codings: [coding.rawValue]).failure == .cutShort(coding))
    }

    // MARK: Size

    /// A reader that stops early has not decoded more than requested, although the body holds 64 MiB of zeros.
    @Test(arguments: codings)
    func aBombIsLeftWhereItsReaderStops(_ coding: ContentCoding) throws {
        let encoder = try #require(ContentEncoder(coding))
        var bomb = Data()
        for _ in 0..<64 { bomb += try encoder.encode(Data(count: 1 << 20)) }
        bomb += try encoder.encode(Data(), isLast: true)
        #expect(bomb.count < 1 << 20)

        let decoder = try #require(ContentDecoder(codings: [coding.rawValue]))
        var pieces = 0
        try decoder.decode([UInt8](bomb)) { _ in
            pieces += 1
            return pieces < 16
        }
        #expect(pieces == 16)
        #expect(decoder.isHeldUp)
        // The decoder reports that the body is cut short, instead of treating it as complete.
        #expect(throws: ContentDecoder.Failure.cutShort(coding)) { try decoder.finish() }
    }

    /// The number of bytes that must not pass from one coding to the next without output.
    private static let tooMuch = ContentDecoder.maximumPassage.bytes + 64 << 10

    /// A gzip member without content. In the everyday run it has a long field in its header, because every member costs time.
    private static let emptyMember: [UInt8] = {
        let length = Scale.isFull ? 0 : 1000
        let header: [UInt8] = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, UInt8(length & 255), UInt8(length >> 8)]
        return header + [UInt8](repeating: 0, count: length) + [3, 0] + [UInt8](repeating: 0, count: 8)
    }()

    /// Returns the bytes again and again, until they are too much.
    private static func tooMany(_ bytes: [UInt8]) -> [UInt8] {
        var all = bytes
        while all.count < tooMuch { all += all }
        return [UInt8](all.prefix((tooMuch / bytes.count + 1) * bytes.count))
    }

    /// Mebibytes of empty members, which the coding around them reduces to almost nothing, are refused.
    @Test(arguments: codings)
    func aCodedBodyThatHoldsNothingIsRefused(_ coding: ContentCoding) throws {
        let members = Self.tooMany(Self.emptyMember)
        let body = try Coded.encode(members, coding, chunk: 1 << 20)
        let result = Decoded(body, codings: ["gzip", coding.rawValue])
        #expect(result.failure == .swollen(.gzip))
        #expect(result.bytes.isEmpty)
    }

    /// A coded body with one byte after every twenty thousand of its empty members is refused too.
    @Test func aCodedBodyThatHoldsNextToNothingIsRefused() throws {
        let empty = Self.emptyMember
        let members = repeatElement(empty, count: 20_000 / empty.count).joined() + (try Coded.encode([1], .gzip))
        let body = try Coded.encode(Self.tooMany(Array(members)), .gzip, chunk: 1 << 20)
        let result = Decoded(body, codings: ["gzip", "gzip"])
        #expect(result.failure == .swollen(.gzip))
        #expect(result.bytes.count > 100)
    }

    /// As many random bytes.
    private static let noise: [UInt8] = {
        var random = SeededGenerator(seed: 3)
        return [UInt8](random.bytes(tooMuch))
    }()

    /// A body that cannot be compressed passes through every coding completely, and grows in some of them. It is larger than the amount
    /// of input that a decoder accepts without producing output.
    @Test(arguments: codings)
    func aLargeBodyPassesThroughManyCodings(_ coding: ContentCoding) throws {
        let noise = Self.noise
        let codings = Scale.isFull ? [coding, .gzip, coding, .gzip, coding] : [coding, .gzip]
        let body = try codings.reduce(noise) { try Coded.encode($0, $1, chunk: 1 << 20) }
        let result = Decoded(body, codings: codings.map(\.rawValue))
        #expect((result.bytes == noise) as Bool)
        #expect(result.failure == nil)
    }

    /// A window of more than 8 MiB is refused, because the server would determine the amount of memory that is used (RFC 9659).
    @Test func aZstandardWindowThatIsTooLargeIsRefused() throws {
        try #require(ContentCoding.zstd.canDecode)
        let body = try #require(Data(base64Encoded: "KLUv/QBwbQAAOGhlbGxvLCABAEqKEQ=="))
        #expect(Decoded([UInt8](body), codings: ["zstd"]).failure == .corrupt(.zstd))
    }
}

extension Decoded {
    fileprivate init(_ body: ArraySlice<UInt8>, codings: [String]) { self.init([UInt8](body), codings: codings) }
}
