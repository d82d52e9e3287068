import CurlEngine
import FoundationEssentials

/// The conversion of bytes to text in the encodings of the web. FoundationEssentials supports few of them.
enum TextDecoding {
    /// Returns the text in the first of these encodings in which the bytes are text: the encoding of the byte order mark (which the
    /// WHATWG Encoding Standard puts before the charset of the response), the charset, UTF-8, windows-1252; `nil` if the charset is not
    /// supported and there is no byte order mark, because the bytes would become other text in any other encoding.
    ///
    /// In a legacy charset of the standard, such as GBK, any bytes are text: U+FFFD takes the place of a byte that begins no character.
    static func text(_ data: Data, charset: String?) -> String? {
        let (mark, declared) = (ByteOrderMark(data)?.encoding, charset.flatMap(String.Encoding.init(charset:)))
        if mark == nil, declared == nil, let legacy = charset.flatMap({ Charset(label: $0.lowercasedASCII()) }) {
            return legacy.text([UInt8](data))
        }
        if charset != nil, mark == nil, declared == nil { return nil }
        let candidates = [mark, declared, .utf8]
        for case .some(let encoding) in candidates {
            if let text = text(data, in: encoding) { return text }
        }
        return windows1252(data)
    }

    /// Returns the text in one encoding, without its byte order mark; `nil` if the bytes are not text in that encoding.
    static func text(_ data: Data, in encoding: String.Encoding) -> String? {
        let mark = ByteOrderMark(data)
        switch encoding {
        case .utf8: return String(validating: mark == .utf8 ? data.dropFirst(3) : data, as: UTF8.self)
        // Big-endian unless a mark says otherwise: RFC 2781, section 4.3.
        case .utf16: return utf16(data, mark == .utf16LittleEndian ? .utf16LittleEndian : .utf16BigEndian, mark: mark)
        case .utf16LittleEndian: return utf16(data, .utf16LittleEndian, mark: mark)
        case .utf16BigEndian: return utf16(data, .utf16BigEndian, mark: mark)
        case .ascii: return data.allSatisfy { $0 < 0x80 } ? String(decoding: data, as: UTF8.self) : nil
        case .isoLatin1: return latin1(data)
        case .windowsCP1252: return windows1252(data)
        default: return String(data: data, encoding: encoding)
        }
    }

    private static func utf16(_ data: Data, _ order: ByteOrderMark, mark: ByteOrderMark?) -> String? {
        let bytes = mark == order ? data.dropFirst(2) : data
        guard bytes.count.isMultiple(of: 2) else { return nil }
        var units: [UInt16] = []
        units.reserveCapacity(bytes.count / 2)
        var iterator = bytes.makeIterator()
        while let first = iterator.next(), let second = iterator.next() {
            let (high, low) = order == .utf16BigEndian ? (first, second) : (second, first)
            units.append(UInt16(high) << 8 | UInt16(low))
        }
        return String(validating: units, as: UTF16.self)
    }

    private static func latin1(_ data: Data) -> String {
        String(String.UnicodeScalarView(data.lazy.map { Unicode.Scalar($0) }))
    }

    private static func windows1252(_ data: Data) -> String {
        let scalars = data.lazy.map { byte in
            0x80...0x9F ~= byte ? windows1252Block[Int(byte - 0x80)] : Unicode.Scalar(byte)
        }
        return String(String.UnicodeScalarView(scalars))
    }

    /// The scalars of the bytes 0x80 to 0x9F; the five bytes without a character are controls (WHATWG Encoding Standard, index
    /// windows-1252).
    private static let windows1252Block: [Unicode.Scalar] = [
        "\u{20AC}", "\u{81}", "\u{201A}", "\u{0192}", "\u{201E}", "\u{2026}", "\u{2020}", "\u{2021}",
        "\u{02C6}", "\u{2030}", "\u{0160}", "\u{2039}", "\u{0152}", "\u{8D}", "\u{017D}", "\u{8F}",
        "\u{90}", "\u{2018}", "\u{2019}", "\u{201C}", "\u{201D}", "\u{2022}", "\u{2013}", "\u{2014}",
        "\u{02DC}", "\u{2122}", "\u{0161}", "\u{203A}", "\u{0153}", "\u{9D}", "\u{017E}", "\u{0178}",
    ]
}

/// The byte order mark at the start of a text, which identifies the encoding of the text.
private enum ByteOrderMark {
    case utf8, utf16BigEndian, utf16LittleEndian

    init?(_ data: Data) {
        if data.starts(with: [0xEF, 0xBB, 0xBF]) {
            self = .utf8
        } else if data.starts(with: [0xFE, 0xFF]) {
            self = .utf16BigEndian
        } else if data.starts(with: [0xFF, 0xFE]) {
            self = .utf16LittleEndian
        } else {
            return nil
        }
    }

    var encoding: String.Encoding {
        switch self {
        case .utf8: .utf8
        case .utf16BigEndian: .utf16BigEndian
        case .utf16LittleEndian: .utf16LittleEndian
        }
    }
}

extension String.Encoding {
    /// Creates the encoding with a name from the IANA registry of character sets, compared without regard to case; `nil` if the name is
    /// not supported.
    init?(charset name: String) {
        switch name.lowercasedASCII() {
        case "utf-8", "utf8", "csutf8", "unicode-1-1-utf-8": self = .utf8
        case "utf-16", "utf16", "csutf16": self = .utf16
        case "utf-16be", "csutf16be": self = .utf16BigEndian
        case "utf-16le", "csutf16le": self = .utf16LittleEndian
        case "utf-32", "csutf32": self = .utf32
        case "utf-32be", "csutf32be": self = .utf32BigEndian
        case "utf-32le", "csutf32le": self = .utf32LittleEndian
        case "us-ascii", "ascii", "ansi_x3.4-1968", "iso646-us", "csascii": self = .ascii
        // The standard reads ISO-8859-1 as windows-1252, which has characters instead of 32 controls that no text has.
        case "iso-8859-1", "iso8859-1", "iso88591", "iso_8859-1", "iso_8859-1:1987", "iso-ir-100", "latin1", "l1",
            "csisolatin1", "ibm819",
            "cp819", "windows-1252", "cp1252", "x-cp1252", "cswindows1252":
            self = .windowsCP1252
        default: return nil
        }
    }
}
