import CurlEngine
import FoundationEssentials
import Glibc
import HTTPTypes
import Trellis
import TrellisTesting

/// A process that stores, reads and removes entries of a folder that others use too, until it kills itself at a random moment.
///
/// `CacheWorker FOLDER SEED`. With the seed 0, the process ends after some operations. Exit status: 3 after a wrong byte, 4 if two processes
/// own the folder, 5 after an error that is none of the storage's own.
@main
struct CacheWorker {
    private static let operationCount = 300
    private static let keyCount = 8

    private let storage: DiskCacheStorage
    private let owner: OwnerMark

    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let seed = UInt64(arguments[2]), let owner = OwnerMark(arguments[1] + ".owner")
        else {
            exit(64)
        }
        let storage = DiskCacheStorage(
            directory: arguments[1], maximumSize: 4 << 20, maximumCount: 10, maximumBodySize: 2 << 20)
        let worker = CacheWorker(storage: storage, owner: owner)
        var generator = SeededGenerator(seed: seed)
        let handler = seed == 0 ? nil : worker.killing(&generator)
        await FileOperationHook.$handler.withValue(handler) {
            await withTaskGroup(of: Void.self) { group in
                for number in 1...2 as ClosedRange<UInt64> {
                    let generator = SeededGenerator(seed: seed &* 2 &+ number)
                    group.addTask { await worker.work(generator, isEndless: seed != 0) }
                }
            }
        }
        await owner.leaving { await storage.close() }
    }

    /// Chooses the end of the process: after a time, or before or after an operation on a file.
    private func killing(_ generator: inout SeededGenerator) -> FileOperationHook.Handler? {
        let owner = owner
        guard generator.number(below: 2) == 0 else {
            let time = generator.number(below: 40_000)
            BlockingThreadPool.begin {
                usleep(UInt32(time))
                owner.die()
            }
            return nil
        }
        let rest = Locked(generator.number(below: 60))
        return { operation, _ in
            guard operation.isChange else { return nil }
            let isLast = rest.withLock { rest in
                rest -= 1
                return rest < 0
            }
            if isLast { owner.die() }
            return nil
        }
    }

    private func work(_ numbers: SeededGenerator, isEndless: Bool) async {
        var numbers = numbers
        var count = 0
        while isEndless || count < Self.operationCount {
            count += 1
            do { try await operate(&numbers) } catch is DiskCacheStorage.TooLarge {} catch is FileFailure {
                // Another process has held a lock for long, or the owner has not removed anything.
            } catch {
                stop("\(error)", 5)
            }
            owner.check(storage)
        }
    }

    private func operate(_ numbers: inout SeededGenerator) async throws {
        let key = CacheKey(url: "http://localhost/\(numbers.number(below: Self.keyCount))")
        switch numbers.number(below: 100) {
        case 0..<40: try await read(key)
        case 40..<80: try await store(key, &numbers)
        case 80..<88:
            guard let entry = try await read(key).first else { return }
            var head = entry.head
            head.headers[Sample.padding] = String(repeating: "x", count: numbers.number(below: 600))
            try await storage.update(entry, for: key, to: head)
        case 88..<93: if let entry = try await read(key).last { try await storage.remove(entry, for: key) }
        case 93..<96: try await storage.removeEntries(for: key)
        case 96: try await storage.removeAll()
        case 97: _ = try await storage.usage
        case 98: for try await key in storage.keys { try await read(key) }
        default: await owner.leaving { await storage.close() }
        }
    }

    @discardableResult
    private func read(_ key: CacheKey) async throws -> [CacheEntry] {
        let entries = try await storage.entries(for: key)
        for entry in entries {
            let body = try await entry.body.bytes(in: 0..<entry.body.length)
            if let wrong = Sample.problem(key, entry.head, body) { stop("\(key): \(wrong)", 3) }
        }
        return entries
    }

    private func store(_ key: CacheKey, _ numbers: inout SeededGenerator) async throws {
        let sample = Sample(&numbers)
        let writer = try await storage.makeWriter(for: key, sample.head(key), length: nil)
        var rest = sample.body(key)
        while !rest.isEmpty {
            try await writer.write(Data(rest.prefix(200_000)))
            rest = rest.dropFirst(200_000)
        }
        if numbers.number(below: 10) == 0 { await writer.discard() } else { try await writer.commit() }
    }

    private func stop(_ text: String, _ status: CInt) { OwnerMark.stop(text, status) }
}
