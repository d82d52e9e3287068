extension Span<UInt8> {
    /// A Boolean value: all bytes are JSON white space (RFC 8259, section 2).
    var isBlankJSON: Bool {
        for offset in 0..<count where !self[offset].isBlankJSON { return false }
        return true
    }
}

extension UInt8 {
    /// A Boolean value: the byte is JSON white space, which is space, tab, LF and CR.
    var isBlankJSON: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
