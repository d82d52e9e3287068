/// Methods that read a line of libcurl's log.
extension UnsafeRawBufferPointer {
    /// Returns the number after `text`, if the line begins with `text`.
    func number(after text: StaticString) -> UInt64? {
        unsafe hasPrefix(text) ? number(at: text.utf8CodeUnitCount)?.value : nil
    }

    /// Returns the decimal number at an offset, and the offset after that number.
    func number(at offset: Int) -> (value: UInt64, end: Int)? {
        var (value, end) = (UInt64(0), offset)
        while end < count, value < .max / 10, unsafe self[end] >= 0x30 && self[end] <= 0x39 {
            value = unsafe value * 10 + UInt64(self[end] - 0x30)
            end += 1
        }
        return end > offset ? (value, end) : nil
    }

    /// Returns the offset after the first occurrence of a text.
    func end(of text: StaticString) -> Int? {
        let length = text.utf8CodeUnitCount
        guard length <= count else { return nil }
        for start in 0...count - length where unsafe from(start).hasPrefix(text) { return start + length }
        return nil
    }

    /// Returns the rest of the line after an offset.
    func from(_ offset: Int) -> UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: self[offset...]) }
}
