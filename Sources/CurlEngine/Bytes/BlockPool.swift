private import Glibc

/// Blocks of memory for bodies under way, which are used again: fresh pages cost a fast transfer a quarter of its time.
///
/// One for the process: blocks are given back wherever the last reader of a chunk lets go of it.
enum BlockPool {
    /// The size of a block in bytes.
    static let blockSize = 256 << 10
    /// So many blocks are kept that nobody uses, in all 8 MiB.
    private static let limit = 32

    @safe
    private struct Block: @unchecked Sendable {
        // Unchecked: it belongs to nobody else.
        let start: UnsafeMutableRawPointer
    }

    private static let unused = Locked<[Block]>([])

    /// A block, which holds anything; `nil`: memory has run out.
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
