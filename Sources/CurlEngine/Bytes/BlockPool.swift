private import Glibc

/// Blocks of memory for bodies under way, which are used again: fresh pages cost a fast transfer a quarter of its time.
///
/// The process has one pool: blocks are given back wherever the last reader of a chunk releases the chunk.
enum BlockPool {
    /// The size of a block in bytes.
    static let blockSize = 256 << 10
    /// The largest number of unused blocks that are kept, in all 8 MiB.
    private static let limit = 32

    @safe
    private struct Block: @unchecked Sendable {
        // Unchecked: the block has no other owner.
        let start: UnsafeMutableRawPointer
    }

    private static let unused = Locked<[Block]>([])

    /// Returns a block with undefined content; `nil` where memory has run out.
    static func take() -> UnsafeMutableRawPointer? {
        if let block = unused.withLock({ $0.popLast() }) { return unsafe block.start }
        return unsafe malloc(blockSize)
    }

    /// Takes a block back.
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
