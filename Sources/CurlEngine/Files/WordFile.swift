private import CCurl
private import FoundationEssentials
private import Glibc

/// Files of 64-bit words in the byte order of the machine. Every function here can wait for a disk: use them off the engine thread.
package enum WordFile {
    /// Returns the words of a regular file; `nil` if there is none, or it cannot be read.
    package static func read(path: String) -> [UInt64]? {
        guard let file = try? RandomAccessFile.opened(path: path), file.initialSize % 8 == 0,
            file.initialSize <= 1 << 32,
            let bytes = try? file.bytes(in: 0..<file.initialSize)
        else { return nil }
        var words = [UInt64](repeating: 0, count: bytes.count / 8)
        unsafe words.withUnsafeMutableBytes { words in _ = unsafe bytes.copyBytes(to: words) }
        return words
    }

    /// Replaces the file at a path.
    package static func write(_ words: [UInt64], path: String) throws(FileError) {
        let data = unsafe words.withUnsafeBytes { unsafe Data($0) }
        try WholeFile.replace(path: path, with: data, isDurable: false)
    }

    /// Returns the checksum of words.
    package static func checksum(_ words: ArraySlice<UInt64>) -> UInt64 {
        unsafe words.withUnsafeBytes { unsafe ccurl_checksum($0.baseAddress, $0.count, 0) }
    }
}

/// The number of a process.
package enum ProcessNumber {
    /// The number of this process.
    package static var current: Int32 { getpid() }
}
