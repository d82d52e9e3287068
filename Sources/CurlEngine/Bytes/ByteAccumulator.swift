package import FoundationEssentials
private import Glibc

/// A growing buffer that becomes a `Data` without a copy.
@safe
package struct ByteAccumulator: ~Copyable {
    /// The size in bytes up to which a value is copied, because a copy costs less than a buffer that is nearly empty.
    private static let largestCopy = 1024

    /// The only bytes so far, if they are few. Most small bodies arrive in one piece, which needs no buffer.
    private var piece = Data()
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
        guard !piece.isEmpty else { return }
        unsafe piece.copyBytes(to: UnsafeMutableRawBufferPointer(start: grown, count: count))
        piece = Data()
    }

    /// Adds bytes. Returns `false` if memory has run out.
    package mutating func append(_ bytes: RawSpan) -> Bool {
        if count == 0, capacity == 0, bytes.byteCount <= Self.largestCopy {
            piece = bytes.copied
            count = bytes.byteCount
            return true
        }
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

    /// Adds bytes. Returns `false` if memory has run out.
    package mutating func append(_ bytes: Span<UInt8>) -> Bool { unsafe append(bytes.bytes) }

    /// Returns the collected bytes, and empties the buffer.
    package mutating func take() -> Data {
        guard let bytes = unsafe start else {
            defer { (piece, count) = (Data(), 0) }
            return piece
        }
        guard count > 0 else { return Data() }
        let size = count
        count = 0
        if size <= Self.largestCopy { return unsafe Data(bytes: bytes, count: size) }
        unsafe start = nil
        capacity = 0
        return unsafe Data(bytesNoCopy: bytes, count: size, deallocator: .free)
    }
}

extension RawSpan {
    /// A copy of the bytes.
    package var copied: Data { unsafe withUnsafeBytes { bytes in unsafe Data(bytes) } }
}

extension [UInt8] {
    /// Creates a copy of a span's bytes.
    package init(copying bytes: RawSpan) {
        self = unsafe bytes.withUnsafeBytes { bytes in unsafe [UInt8](bytes) }
    }

    /// Calls `body` with the bytes as a span.
    package func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result { unsafe body(span.bytes) }
}
