extension Span<UInt8> {
    /// Whether all bytes are white space of JSON (RFC 8259, section 2).
    var isBlankJSON: Bool {
        for offset in 0..<count where !self[offset].isBlankJSON { return false }
        return true
    }
}

extension UInt8 {
    /// White space of JSON: space, tab, LF, CR.
    var isBlankJSON: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
