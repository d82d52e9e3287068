/// The search for line ends in bytes that arrive in pieces. No byte is looked at twice, however small the pieces are.
struct LineSearch {
    /// The position up to which there is no line end.
    private var position = 0

    /// Returns the position of the first line end that is not in front of `start`; `nil` if it has not arrived.
    mutating func lineEnd<Bytes>(in bytes: Bytes, from start: Int) -> Int?
    where Bytes: RandomAccessCollection<UInt8>, Bytes.Index == Int {
        let end = bytes[max(position, start)...].firstIndex(of: UInt8(ascii: "\n"))
        position = end ?? bytes.endIndex
        return end
    }

    /// Records that the first bytes are gone.
    mutating func forget(_ count: Int) { position = max(position - count, 0) }
}
