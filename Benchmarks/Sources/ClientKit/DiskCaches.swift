import CMeasure
public import FoundationEssentials

/// A client's cache in a folder, as a place for numbered entries.
public protocol DiskCache: Sendable {
    /// The number of entries.
    var count: Int { get async throws }

    /// Stores an entry.
    func store(_ body: Data, at number: Int) async throws

    /// Returns the body of an entry; `nil` if there is none.
    func body(at number: Int) async throws -> Data?

    /// Ends the use of the folder, and saves the index if the cache knows all entries. The next call uses the folder again.
    func close() async

    /// Whether the folder has a saved index.
    var hasSavedIndex: Bool { get }

    /// Removes the saved index.
    func removeSavedIndex() throws
}

/// Measures `cache-fill`: stores the entries that `cache-open` finds, and saves their index.
func measureCacheFilling(_ client: some Client, _ work: Work) async throws {
    guard let folder = work.file else { return }
    var report = Report()
    let cache = try client.openCache(in: fullFolder(folder))
    try await withThrowingTaskGroup(of: Void.self) { group in
        for first in 0..<work.concurrency {
            group.addTask {
                for number in stride(from: first, to: work.requests, by: work.concurrency) {
                    try await cache.store(entryBody(number), at: number)
                }
            }
        }
        try await group.waitForAll()
    }
    try await saveIndex(of: cache)
    report.stop()
    report.print(requests: work.requests)
}

/// Measures `cache-open`: the time in which a process opens a cache with a saved index, finds an entry and tells the number of entries;
/// the memory that the cache then takes; and the time in which a cache without a saved index reads its folder.
func measureCacheOpening(_ client: some Client, _ work: Work) async throws {
    guard let folder = work.file else { return }
    // An empty cache starts the threads and finds the libraries that every cache needs.
    let empty = try client.openCache(in: "\(folder)/empty")
    guard try await empty.body(at: 0) == nil else { throw UnexpectedAnswer("an entry of an empty cache") }
    await empty.close()

    var report = Report()
    let cache = try client.openCache(in: fullFolder(folder))
    let first = try await cache.body(at: 0)
    // A cache that does not know all entries reads its folder for the answer, so that a useless index shows in the time.
    let count = try await cache.count
    report.stop()
    guard first == entryBody(0), count == work.requests else {
        throw UnexpectedAnswer("a cache of \(count) entries")
    }
    for number in stride(from: 0, to: count, by: max(count / sampleCount, 1)) {
        guard try await cache.body(at: number) == entryBody(number) else {
            throw UnexpectedAnswer("another body than that of entry \(number)")
        }
    }

    await cache.close()
    try cache.removeSavedIndex()
    let start = measure_now_ns()
    try await saveIndex(of: cache)
    let rebuildSeconds = Double(measure_now_ns() - start) / 1e9
    guard try await cache.body(at: count - 1) == entryBody(count - 1), try await cache.count == count else {
        throw UnexpectedAnswer("another number of entries without the index")
    }
    // The next round needs a saved index.
    await cache.close()
    report.print(requests: count, ownFigures: "\"rebuild_seconds\":\(rebuildSeconds),")
}

/// The number of entries that are compared with what was stored.
private let sampleCount = 1_000

/// Returns the folder of the cache with the entries.
private func fullFolder(_ folder: String) -> String { "\(folder)/full" }

/// Returns the body of an entry, 64 bytes.
private func entryBody(_ number: Int) -> Data {
    let text = Data("entry \(number)".utf8)
    return text + Data(repeating: UInt8(ascii: "."), count: 64 - text.count)
}

/// Uses the cache and closes it until it knows all entries, and so saves its index.
private func saveIndex(of cache: any DiskCache) async throws {
    for _ in 0..<100 {
        // If the cache does not know all entries, this begins the reading of the folder, for the end of which the closing waits.
        _ = try await cache.body(at: 0)
        // Meanwhile the reading begins. Also, an index is of no value if the folder may have changed in the instant of its saving, and
        // the instants of files are as coarse as the kernel's clock: up to 10 ms.
        try await Task.sleep(for: .milliseconds(20))
        await cache.close()
        if cache.hasSavedIndex { return }
    }
    throw UnexpectedAnswer("no saved index")
}
