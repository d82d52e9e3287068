internal import FoundationEssentials
private import Glibc

/// A pool of memory blocks for bodies in transfer. Blocks are reused, because fresh pages cost a fast transfer a quarter of its time.
///
/// The process has one pool, because a block is returned wherever the last reader of a chunk releases the chunk.
enum BlockPool {
    /// The size of a block in bytes.
    static let blockSize = 256 << 10
    /// The largest number of unused blocks that are kept: 8 MiB in total.
    private static let limit = 32

    @safe
    private struct Block: @unchecked Sendable {
        // Unchecked: the block has no other owner.
        let start: UnsafeMutableRawPointer
    }

    private static let unused = Locked<[Block]>([])

    /// Returns a block with undefined content; `nil` if memory has run out.
    static func take() -> UnsafeMutableRawPointer? {
        if let block = unused.withLock({ $0.popLast() }) { return unsafe block.start }
        return unsafe malloc(blockSize)
    }

    /// Returns the first bytes of a block as a value that returns the block to the pool when its last copy is released.
    static func data(of start: UnsafeMutableRawPointer, count: Int) -> Data {
        unsafe Data(bytesNoCopy: start, count: count, deallocator: .custom { start, _ in unsafe giveBack(start) })
    }

    /// Returns bytes of a block as such a value.
    static func data(of start: UnsafeMutableRawPointer, _ range: Range<Int>) -> Data {
        unsafe Data(
            bytesNoCopy: start + range.lowerBound, count: range.count,
            deallocator: .custom { _, _ in unsafe giveBack(start) })
    }

    /// Returns a block to the pool.
    static func giveBack(_ start: UnsafeMutableRawPointer) {
        let block = unsafe Block(start: start)
        let isKept = unused.withLock { unused in
            guard unused.count < limit else { return false }
            unused.append(block)
            return true
        }
        if !isKept { unsafe free(start) }
    }
}
