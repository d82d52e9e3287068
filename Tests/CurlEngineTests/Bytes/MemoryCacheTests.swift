import CCurl
import Testing

/// The memory that engine threads keep for libcurl: blocks of every size are whole, and return to the system when they are drained.
struct MemoryCacheTests {
    /// Runs `body` on a thread that keeps its blocks.
    private func onKeepingThread(_ body: () -> Void) {
        ccurl_memory_begin()
        body()
        ccurl_memory_end()
    }

    @Test func blocksKeepTheirBytes() {
        onKeepingThread {
            for round in 0..<3 {
                var blocks: [(UnsafeMutableRawPointer, Int)] = unsafe []
                for size in Array(1...1_100) + [4_096, 16_384, 16_385, 65_535, 65_536, 65_537, 300_000] {
                    guard let block = unsafe ccurl_memory_resize(nil, size) else { continue }
                    unsafe block.initializeMemory(
                        as: UInt8.self, repeating: UInt8(truncatingIfNeeded: size + round), count: size)
                    unsafe blocks.append((block, size))
                }
                #expect(unsafe blocks.count == 1_107)
                for index in unsafe blocks.indices {
                    let (block, size) = unsafe blocks[index]
                    let bytes = unsafe UnsafeRawBufferPointer(start: block, count: size)
                    #expect(unsafe bytes.allSatisfy { $0 == UInt8(truncatingIfNeeded: size + round) })
                    unsafe ccurl_memory_free(block)
                }
            }
        }
    }

    @Test func aBlockGrowsAndShrinksWithItsBytes() {
        onKeepingThread {
            for _ in 0..<3 {
                var block: UnsafeMutableRawPointer?
                var (size, filled) = (1, 0)
                for next in [1, 20, 24, 25, 500, 1_016, 1_017, 1_024, 1_033, 5_000, 70_000, 300, 3] {
                    unsafe block = ccurl_memory_resize(block, next)
                    guard let bytes = unsafe block?.assumingMemoryBound(to: UInt8.self) else { return }
                    for index in 0..<min(filled, next) {
                        #expect(unsafe bytes[index] == UInt8(truncatingIfNeeded: index))
                    }
                    for index in 0..<next { unsafe bytes[index] = UInt8(truncatingIfNeeded: index) }
                    (size, filled) = (next, next)
                }
                #expect(size == 3)
                unsafe ccurl_memory_free(block)
            }
        }
    }

    @Test func blocksOfThreadsThatKeepNoneAreFreed() {
        let block = unsafe ccurl_memory_resize(nil, 100)
        onKeepingThread {
            unsafe ccurl_memory_free(block)
            let again = unsafe ccurl_memory_resize(nil, 100)
            ccurl_memory_drain()
            unsafe ccurl_memory_free(again)
        }
        ccurl_memory_free(nil)
    }
}
