package import FoundationEssentials
private import Glibc

extension Span<UInt8> {
    /// Returns the offset of the first `byte` at or after `start`; the number of bytes if there is none.
    package func offset(of byte: UInt8, from start: Int = 0) -> Int {
        guard start < count else { return count }
        return unsafe withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress,
                let found = unsafe memchr(base + start, Int32(byte), bytes.count - start)
            else { return bytes.count }
            return unsafe UnsafeRawPointer(found) - base
        }
    }

    /// Whether all bytes are visible ASCII characters. The bytes are compared many at a time.
    package var isVisibleASCII: Bool {
        unsafe withUnsafeBytes { bytes in
            unsafe bytes.reduce(UInt8(0)) { $0 | ($1 &- 0x21 > 0x5d ? 1 : 0) } == 0
        }
    }

    /// Returns whether the bytes of `other` are at `offset`.
    package func matches(_ other: Span<UInt8>, at offset: Int) -> Bool {
        guard offset >= 0, other.count <= count - offset else { return false }
        guard !other.isEmpty else { return true }
        return unsafe withUnsafeBytes { bytes in
            unsafe other.withUnsafeBytes { other in
                guard let start = bytes.baseAddress, let first = other.baseAddress else { return false }
                let count = other.count
                return unsafe memcmp(start + offset, first, count) == 0
            }
        }
    }
}

extension String {
    /// Creates a string from UTF-8. Invalid bytes become U+FFFD.
    package init(utf8 bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { bytes in unsafe String(decoding: bytes, as: UTF8.self) }
    }
}

extension [UInt8] {
    /// Creates a copy of a span's bytes.
    package init(copying bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { bytes in unsafe [UInt8](bytes) }
    }

    /// Adds a copy of a span's bytes.
    package mutating func append(copying bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { bytes in unsafe append(contentsOf: bytes) }
    }
}

extension Data {
    /// Creates a copy of a span's bytes.
    package init(copying bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { bytes in unsafe Data(bytes) }
    }
}
