import CurlEngine
import Foundation
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// A storage whose updates, and whose commits from the second one on, wait for a gate.
struct GatedStorage: MemoryBackedStorage {
    let memory = MemoryCacheStorage()
    /// The gate that opens when the first update or commit begins to wait.
    let isReached = LoopbackServer.Gate()
    let gate = LoopbackServer.Gate()
    private let commits = Locked(0)

    func makeWriter(for key: CacheKey, _ head: CachedHead, length: Int64?) throws -> any CacheWriter {
        ProbedWriter(
            writer: try memory.makeWriter(for: key, head, length: length),
            willCommit: { [self] in if commits.next() > 1 { await hold() } })
    }

    func update(_ entry: CacheEntry, for key: CacheKey, to head: CachedHead) async {
        await hold()
        memory.update(entry, for: key, to: head)
    }

    /// Waits for the gate. The wait is not cancelled with the task, as that for a disk.
    private func hold() async {
        isReached.open()
        _ = await Task { [gate] in try? await gate.opened() }.value
    }
}
