import Glibc

/// Text in another encoding than UTF-8, which arrives in pieces. The C library converts it.
public final class CharsetText {
    private let converter: iconv_t
    /// The bytes of a character that is not complete.
    private var pending: [UInt8] = []

    /// Begins a text. Returns `nil` for UTF-8, which needs no conversion, and for an encoding that the C library does not know.
    public init?(charset: String) {
        let name = String(decoding: charset.utf8.map { (0x61...0x7A).contains($0) ? $0 - 0x20 : $0 }, as: UTF8.self)
        // Web servers mean the encodings of Windows by these names (WHATWG Encoding Standard, section 4.2).
        let names = [
            "ISO-8859-1": "CP1252", "LATIN1": "CP1252", "SHIFT_JIS": "CP932", "GBK": "GB18030", "GB2312": "GB18030",
        ]
        guard !Self.isUTF8(name), let converter = iconv_open("UTF-8", names[name] ?? name),
            converter != iconv_t(bitPattern: -1)
        else { return nil }
        self.converter = converter
    }

    /// Returns whether text in an encoding is UTF-8 as it is. The empty name stands for no encoding.
    public static func isUTF8(_ charset: String) -> Bool {
        ["", "utf-8", "utf8", "us-ascii", "ascii"].contains { $0.utf8.elementsEqual(charset.utf8.map(lowercase)) }
    }

    private static func lowercase(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte + 0x20 : byte }

    deinit { iconv_close(converter) }

    /// Returns the next piece as UTF-8, with U+FFFD for each byte that begins no character.
    public func utf8(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var input = pending + bytes, text: [UInt8] = [], start = 0
        var output = [UInt8](repeating: 0, count: 4096)
        pending = []
        while start < input.count {
            let (taken, made, failure) = convert(&input, from: start, to: &output)
            text += output.prefix(made)
            start += taken
            switch failure {
            case 0, E2BIG: break
            case EINVAL:
                pending = Array(input[start...])
                return text
            default:
                text += [0xEF, 0xBF, 0xBD]
                start += 1
            }
        }
        return text
    }

    private func convert(
        _ input: inout [UInt8], from start: Int, to output: inout [UInt8]
    ) -> (taken: Int, made: Int, failure: CInt) {
        input.withUnsafeMutableBytes { input in
            output.withUnsafeMutableBytes { output in
                var source = input.baseAddress?.advanced(by: start).assumingMemoryBound(to: CChar.self)
                var target = output.baseAddress?.assumingMemoryBound(to: CChar.self)
                var (inputLeft, outputLeft) = (input.count - start, output.count)
                let result = iconv(converter, &source, &inputLeft, &target, &outputLeft)
                let failure = result == -1 ? errno : 0
                return (input.count - start - inputLeft, output.count - outputLeft, failure)
            }
        }
    }
}
