/// Names and file names in a `Content-Disposition`, as the WHATWG HTML standard writes them ("multipart/form-data encoding
/// algorithm"): UTF-8, and three bytes escaped, no others.
enum MultipartEscaping {
    /// A field's name: its line breaks become CR LF first, as those of a name in a form do.
    static func name(_ name: String) -> String { escape(withPairedLineBreaks(name.utf8)) }

    /// A file's name.
    static func fileName(_ name: String) -> String { escape(name.utf8) }

    private static func escape(_ bytes: some Sequence<UInt8>) -> String {
        var result: [UInt8] = []
        for byte in bytes {
            switch byte {
            case 0x0A: result += "%0A".utf8
            case 0x0D: result += "%0D".utf8
            case 0x22: result += "%22".utf8
            default: result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func withPairedLineBreaks(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var previous: UInt8 = 0
        for byte in bytes {
            if byte == 0x0A, previous != 0x0D { result.append(0x0D) }
            if byte != 0x0A, previous == 0x0D { result.append(0x0A) }
            result.append(byte)
            previous = byte
        }
        if previous == 0x0D { result.append(0x0A) }
        return result
    }
}
