import FoundationEssentials
import Glibc

/// The memory and the threads of the process.
enum ProcessFootprint {
    /// The number of threads.
    static var threadCount: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? -1
    }

    /// The resident memory in bytes.
    static var residentBytes: Int {
        guard let file = FileManager.default.contents(atPath: "/proc/self/statm") else { return -1 }
        let words = String(decoding: file, as: UTF8.self).split(separator: " ")
        return (words.count > 1 ? Int(words[1]) ?? -1 : -1) * 4096
    }

    /// Returns the free memory of the allocator to the system, with `malloc_trim`, which the module of the C library does not export.
    static func trimHeap() {
        guard let symbol = unsafe dlsym(nil, "malloc_trim") else { return }
        typealias Trim = @convention(c) (Int) -> Int32
        _ = unsafe unsafeBitCast(symbol, to: Trim.self)(0)
    }
}
