import FoundationEssentials
private import Glibc

/// A write of all bytes to a file at an offset, with as many calls of the system as that takes.
enum WholeWrite {
    /// Writes all of the bytes.
    ///
    /// - Parameter didWrite: The function that is told, after each call of the system, the offset after the bytes in the file.
    static func perform(
        _ data: Data, to descriptor: Int32, at offset: Int64, didWrite: (_ end: Int64) -> Void = { _ in }
    ) throws(FileError) {
        var written = 0
        while written < data.count {
            let count = unsafe data.withUnsafeBytes { bytes in
                unsafe pwrite(
                    descriptor, bytes.baseAddress.map { unsafe $0 + written }, bytes.count - written,
                    off_t(offset) + off_t(written))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .system }
            written += count
            didWrite(offset + Int64(written))
        }
    }
}
