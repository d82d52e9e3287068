import FoundationEssentials

extension String.Encoding {
    /// Creates the encoding with a name from the IANA registry of character sets, compared without regard to case; `nil` if the name is
    /// not supported.
    init?(charset name: String) {
        switch name.lowercased() {
        case "utf-8", "utf8", "csutf8", "unicode-1-1-utf-8": self = .utf8
        case "utf-16", "utf16", "csutf16": self = .utf16
        case "utf-16be", "csutf16be": self = .utf16BigEndian
        case "utf-16le", "csutf16le": self = .utf16LittleEndian
        case "utf-32", "csutf32": self = .utf32
        case "utf-32be", "csutf32be": self = .utf32BigEndian
        case "utf-32le", "csutf32le": self = .utf32LittleEndian
        case "us-ascii", "ascii", "ansi_x3.4-1968", "iso646-us", "csascii": self = .ascii
        case "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "l1", "csisolatin1": self = .isoLatin1
        case "windows-1252", "cp1252", "x-cp1252", "cswindows1252": self = .windowsCP1252
        default: return nil
        }
    }
}
