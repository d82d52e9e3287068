/// Text from elsewhere as a terminal may get it: control characters, apart from tabs and the ends of lines, are question marks. A terminal
/// would take them for commands.
public struct TerminalText: Sendable {
    /// Whether the last byte was 0xC2, which begins a control character of Unicode, 0x80 to 0x9F, and other characters.
    private var isInCharacter = false

    /// Creates a text without any bytes.
    public init() {}

    /// Returns the next bytes of the text as they are shown. A character at their end that is not complete comes with the bytes after it.
    public mutating func shown(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var shown: [UInt8] = []
        for byte in bytes {
            if isInCharacter {
                isInCharacter = false
                if 0x80...0x9F ~= byte {
                    shown.append(UInt8(ascii: "?"))
                    continue
                }
                shown.append(0xC2)
            }
            switch byte {
            case 0xC2: isInCharacter = true
            case 0x09, 0x0A, 0x0D, 0x20...0x7E, 0x80...: shown.append(byte)
            default: shown.append(UInt8(ascii: "?"))
            }
        }
        return shown
    }

    /// Returns a complete text as it is shown.
    public static func shown(_ text: String) -> String {
        var whole = TerminalText()
        return String(decoding: whole.shown(text.utf8), as: UTF8.self)
    }
}
