/// The escaping of names and file names in a `Content-Disposition`, as in the WHATWG HTML standard ("multipart/form-data encoding
/// algorithm"): UTF-8 with only three bytes escaped.
enum MultipartEscaping {
    /// Returns the escaped name of a field. Line breaks become CR LF first, as in the names of a form.
    static func name(_ name: String) -> String { escape(withPairedLineBreaks(name.utf8)) }

    /// Returns the escaped name of a file.
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
