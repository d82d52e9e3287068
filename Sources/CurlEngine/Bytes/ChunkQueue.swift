package import FoundationEssentials
private import Glibc

/// A queue of bytes, from which a reader takes chunks without a copy.
///
/// Added bytes are joined into chunks of ``chunkSize``. Few bytes use little memory, and many bytes use blocks of a ``BlockPool``.
@safe
package struct ChunkQueue: ~Copyable {
    /// The largest chunk in bytes.
    package static let chunkSize = BlockPool.blockSize
    /// The size in bytes up to which a chunk is copied to memory of its size, because a reader may keep the chunk for a long time.
    static let largestOwned = 32 << 10

    /// The number of bytes in the queue.
    package private(set) var count = 0
    /// The full chunks, in order.
    private var whole: [Data] = []
    /// The memory of the chunk that is being filled.
    private var start: UnsafeMutableRawPointer?
    /// The number of bytes in the chunk that is being filled.
    private var filled = 0
    /// The size of the memory of that chunk, in bytes.
    private var capacity = 0

    /// Creates an empty queue.
    package init() { unsafe start = nil }

    deinit {
        guard let start = unsafe start else { return }
        if capacity == Self.chunkSize { unsafe BlockPool.giveBack(start) } else { unsafe free(start) }
    }

    /// Adds bytes. Returns `false` if memory has run out.
    package mutating func append(_ bytes: RawSpan) -> Bool {
        var offset = 0
        while offset < bytes.byteCount {
            let rest = bytes.byteCount - offset
            guard makeRoom(for: rest), let start = unsafe start else { return false }
            let size = min(rest, capacity - filled)
            unsafe bytes.withUnsafeBytes { bytes in
                if let source = bytes.baseAddress {
                    unsafe (start + filled).copyMemory(from: source + offset, byteCount: size)
                }
            }
            filled += size
            count += size
            offset += size
            if filled == Self.chunkSize { whole.append(takeFilled()) }
        }
        return true
    }

    /// Adds a chunk, whose memory is not copied.
    package mutating func append(chunk: Data) {
        if filled > 0 { whole.append(takeFilled()) }
        whole.append(chunk)
        count += chunk.count
    }

    /// Removes and returns the first chunk; an empty one if the queue is empty.
    package mutating func take() -> Data {
        let chunk = whole.isEmpty ? takeFilled() : whole.removeFirst()
        count -= chunk.count
        return chunk
    }

    /// Reserves room for some of `wanted` bytes, if there is none. Returns `false` if memory has run out.
    private mutating func makeRoom(for wanted: Int) -> Bool {
        guard filled == capacity || filled + wanted > capacity && capacity < Self.chunkSize else { return true }
        let total = filled + wanted
        guard total > Self.largestOwned else {
            let size = min(max(total, 2 * capacity, 256), Self.largestOwned)
            guard let grown = unsafe realloc(start, size) else { return false }
            unsafe start = grown
            capacity = size
            return true
        }
        guard let block = unsafe BlockPool.take() else { return false }
        if let start = unsafe start {
            unsafe block.copyMemory(from: start, byteCount: filled)
            unsafe free(start)
        }
        unsafe start = block
        capacity = Self.chunkSize
        return true
    }

    private mutating func takeFilled() -> Data {
        guard filled > 0, let bytes = unsafe start else { return Data() }
        let size = filled
        filled = 0
        // Small values are copied, because a copy costs less than a buffer that is nearly empty.
        if size <= 1024 { return unsafe Data(bytes: bytes, count: size) }
        let isBlock = capacity == Self.chunkSize
        unsafe start = nil
        capacity = 0
        guard isBlock else { return unsafe Data(bytesNoCopy: bytes, count: size, deallocator: .free) }
        return unsafe BlockPool.data(of: bytes, count: size)
    }
}
