package import FoundationEssentials
private import Glibc

/// A growing buffer that becomes a `Data` without a copy.
@safe
package struct ByteAccumulator: ~Copyable {
    private var start: UnsafeMutableRawPointer?
    private var capacity = 0
    /// The number of bytes in the buffer.
    package private(set) var count = 0

    /// Creates an empty buffer.
    package init() { unsafe start = nil }

    deinit { unsafe free(start) }

    /// Reserves room for `total` bytes, if the length is known in advance.
    package mutating func reserve(_ total: Int) {
        guard total > capacity, let grown = unsafe realloc(start, total) else { return }
        unsafe start = grown
        capacity = total
    }

    /// Adds bytes. Returns `false` if memory has run out.
    package mutating func append(_ bytes: RawSpan) -> Bool {
        let total = count + bytes.byteCount
        if total > capacity { reserve(max(total, capacity * 2, 256)) }
        guard total <= capacity, let start = unsafe start else { return bytes.isEmpty }
        unsafe bytes.withUnsafeBytes { bytes in
            if let source = bytes.baseAddress {
                unsafe (start + count).copyMemory(from: source, byteCount: bytes.count)
            }
        }
        count = total
        return true
    }

    /// Returns the collected bytes, and empties the buffer.
    package mutating func take() -> Data {
        guard count > 0, let bytes = unsafe start else { return Data() }
        let size = count
        count = 0
        // Small values are copied, because a copy costs less than a buffer that is nearly empty.
        if size <= 1024 { return unsafe Data(bytes: bytes, count: size) }
        unsafe start = nil
        capacity = 0
        return unsafe Data(bytesNoCopy: bytes, count: size, deallocator: .free)
    }
}

extension [UInt8] {
    /// Creates a copy of a span's bytes.
    package init(copying bytes: RawSpan) {
        self = unsafe bytes.withUnsafeBytes { bytes in unsafe [UInt8](bytes) }
    }

    /// Calls `body` with the bytes as a span.
    package func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result { unsafe body(span.bytes) }
}
