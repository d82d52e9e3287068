private import Glibc

/// A legacy encoding of text, by the labels of the WHATWG Encoding Standard, section 4.2. The C library converts its bytes.
///
/// UTF-8, UTF-16, ISO-8859-1 and windows-1252 are not among them: they need no table.
package struct Charset: Sendable, Hashable {
    /// The name that the C library has for the encoding.
    package let name: String

    /// Finds the encoding with a label, if any.
    ///
    /// - Parameter label: The label in lower case, without blanks around it.
    package init?(label: String) {
        guard let name = Self.names[label] else { return nil }
        self.name = name
    }

    /// Returns the text of some bytes, in which U+FFFD takes the place of each byte that begins no character; `nil` if the C library of
    /// this system cannot convert the encoding.
    package func text(_ bytes: [UInt8]) -> String? {
        let converter = unsafe iconv_open("UTF-8", name)
        // The value of a failure is (iconv_t)-1.
        guard unsafe converter != iconv_t(bitPattern: -1) else { return nil }
        defer { _ = unsafe iconv_close(converter) }
        var input = bytes, text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        var output = [UInt8](repeating: 0, count: 4096)
        var start = 0
        while start < input.count {
            let (taken, made, failure) = unsafe Self.convert(converter, &input, from: start, to: &output)
            text += output.prefix(made)
            start += taken
            switch failure {
            case 0, E2BIG: break
            default:
                text += [0xEF, 0xBF, 0xBD]
                // The rest may begin a character (EILSEQ), or is the beginning of one that does not end (EINVAL).
                start = failure == EINVAL ? input.count : start + 1
                _ = unsafe iconv(converter, nil, nil, nil, nil)
            }
        }
        // Some encodings keep a letter back, to which an accent may follow.
        text += unsafe Self.rest(of: converter, &output)
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes that a converter has kept back.
    private static func rest(of converter: iconv_t?, _ output: inout [UInt8]) -> [UInt8] {
        let count = unsafe output.withUnsafeMutableBytes { output in
            var target = unsafe output.baseAddress?.assumingMemoryBound(to: CChar.self), left = output.count
            _ = unsafe iconv(converter, nil, nil, &target, &left)
            return output.count - left
        }
        return Array(output.prefix(count))
    }

    /// Converts bytes until the output is full, the input ends, or a byte begins no character. Returns the numbers of bytes of both, and
    /// the number of the error; 0 for none.
    private static func convert(
        _ converter: iconv_t?, _ input: inout [UInt8], from start: Int, to output: inout [UInt8]
    ) -> (taken: Int, made: Int, failure: CInt) {
        unsafe input.withUnsafeMutableBytes { input in
            unsafe output.withUnsafeMutableBytes { output in
                var source = unsafe input.baseAddress?.advanced(by: start).assumingMemoryBound(to: CChar.self)
                var target = unsafe output.baseAddress?.assumingMemoryBound(to: CChar.self)
                var (inputLeft, outputLeft) = (input.count - start, output.count)
                let result = unsafe iconv(converter, &source, &inputLeft, &target, &outputLeft)
                let failure = result == -1 ? errno : 0
                return (input.count - start - inputLeft, output.count - outputLeft, failure)
            }
        }
    }

    /// The C library's names by label.
    private static let names: [String: String] = {
        var names: [String: String] = [:]
        for (name, labels) in table {
            for label in labels.split(separator: " ") { names[String(label)] = name }
        }
        return names
    }()

    /// The C library's name of each encoding, and its labels. GBK is read as GB18030, EUC-KR as windows-949, and Shift_JIS as windows-31J,
    /// as the standard has it.
    private static let table: [(name: String, labels: String)] = [
        ("CP866", "866 cp866 csibm866 ibm866"),
        ("ISO-8859-2", "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2"),
        ("ISO-8859-3", "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3"),
        ("ISO-8859-4", "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4"),
        (
            "ISO-8859-5",
            "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988"
        ),
        (
            "ISO-8859-6",
            "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e iso-8859-6-i "
                + "iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987"
        ),
        (
            "ISO-8859-7",
            "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 "
                + "iso_8859-7:1987 sun_eu_greek"
        ),
        (
            "ISO-8859-8",
            "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 "
                + "iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical"
        ),
        ("ISO-8859-10", "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6"),
        ("ISO-8859-13", "iso-8859-13 iso8859-13 iso885913"), ("ISO-8859-14", "iso-8859-14 iso8859-14 iso885914"),
        ("ISO-8859-15", "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9"),
        ("ISO-8859-16", "iso-8859-16"), ("KOI8-R", "cskoi8r koi koi8 koi8-r koi8_r"), ("KOI8-U", "koi8-ru koi8-u"),
        ("MACINTOSH", "csmacintosh mac macintosh x-mac-roman"), ("MAC-CYRILLIC", "x-mac-cyrillic x-mac-ukrainian"),
        ("CP874", "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874"),
        ("CP1250", "cp1250 windows-1250 x-cp1250"), ("CP1251", "cp1251 windows-1251 x-cp1251"),
        ("CP1253", "cp1253 windows-1253 x-cp1253"),
        (
            "CP1254",
            "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 "
                + "windows-1254 x-cp1254"
        ),
        ("CP1255", "cp1255 windows-1255 x-cp1255"), ("CP1256", "cp1256 windows-1256 x-cp1256"),
        ("CP1257", "cp1257 windows-1257 x-cp1257"), ("CP1258", "cp1258 windows-1258 x-cp1258"),
        (
            "GB18030",
            "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030"
        ),
        ("BIG5-HKSCS", "big5 big5-hkscs cn-big5 csbig5 x-x-big5"), ("EUC-JP", "cseucpkdfmtjapanese euc-jp x-euc-jp"),
        ("ISO-2022-JP", "csiso2022jp iso-2022-jp"),
        ("CP932", "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis"),
        (
            "CP949",
            "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949"
        ),
    ]
}
