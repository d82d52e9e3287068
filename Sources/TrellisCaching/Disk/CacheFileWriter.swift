import CurlEngine
import FoundationEssentials
import TrellisCore

/// The writer of an entry's file. A small entry is written when it is complete, with one write; a larger one while it is received.
///
/// The bytes are written by a job on another thread, while the caller receives more. The caller waits only if a write is under way and
/// another one is worthwhile already, so that about 2 MiB wait at most, in up to 4 MiB of memory. They are in the memory of the caller's
/// pieces, without a copy, unless the pieces are small.
final class CacheFileWriter: CacheWriter {
    /// The number of bytes that are summed and written together, while they are in the processor's cache.
    private static let stepSize = 256 << 10

    private struct State {
        /// The bytes that no job has taken.
        var waiting = CacheFilePieces()
        /// The number of bytes of the body up to now.
        var length: Int64 = 0
        /// Whether a job writes.
        var isWriting = false
        /// The failure of a job, which the next call throws.
        var failure: (any Error)?
        /// The caller, which waits for a job.
        var waiter: CheckedContinuation<Void, Never>?

        /// Removes the caller that waits.
        mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
            defer { waiter = nil }
            return waiter
        }
    }

    /// The result of adding bytes.
    private enum Addition {
        case added
        /// The bytes were added, and a job has to begin.
        case begins
        case failed(any Error)
    }

    private struct Output {
        var table: CacheFileFormat.RunningTable
        /// The number of bytes of the body that have been written.
        var written: Int64 = 0
        /// The temporary file; `nil` before the first write.
        var file: RandomAccessFile?
        /// The size of the complete file; `nil` before it is complete.
        var size: Int64?
    }

    private let folder: DiskCacheFolder
    private let names: CacheFileHead
    private let maximumLength: Int64
    private let prologue: CacheFileFormat.Prologue
    private let head: Data
    private let state = Locked(State())
    /// The output, whose lock is held while the file is written: one thread writes at a time, a job's and then the commit's.
    private let output: Locked<Output>
    /// The function that is called on the thread of the commit, with the complete file.
    private let onCommit: @Sendable (RandomAccessFile, CacheFileHead, Int64) throws -> Void

    init(
        _ folder: DiskCacheFolder, _ names: CacheFileHead, maximumLength: Int64,
        onCommit: @escaping @Sendable (RandomAccessFile, CacheFileHead, Int64) throws -> Void
    ) throws {
        (self.folder, self.names, self.maximumLength) = (folder, names, maximumLength)
        self.onCommit = onCommit
        head = names.encoded
        prologue = try .suitable(for: head)
        output = Locked(Output(table: CacheFileFormat.RunningTable(number: prologue.number)))
    }

    deinit {
        guard let file = output.withLock({ $0.file }) else { return }
        BlockingThreadPool.begin(at: folder.root) { FileSystem.deleteIfPossible(file.path) }
    }

    func write(_ bytes: Data) async throws {
        let isTooLarge = state.withLock { state in
            state.length += Int64(bytes.count)
            return state.length > maximumLength
        }
        guard !isTooLarge else { throw DiskCacheStorage.TooLarge() }
        try await wait { $0.isWriting && $0.waiting.isLarge }
        let addition = state.withLock { state -> Addition in
            if let failure = state.failure { return .failed(failure) }
            state.waiting.append(bytes)
            guard !state.isWriting, state.waiting.isWorthWriting else { return .added }
            state.isWriting = true
            return .begins
        }
        switch addition {
        case .added: break
        case .begins: BlockingThreadPool.beginWithHook(at: folder.root) { self.writeWaiting() }
        case .failed(let failure): throw folder.attributed(failure)
        }
    }

    func commit() async throws {
        try await wait { $0.isWriting }
        if let failure = state.withLock({ $0.failure }) { throw folder.attributed(failure) }
        try await folder.run { try self.finish() }
    }

    func discard() async {
        state.withLock { $0.waiting = CacheFilePieces() }
        await BlockingThreadPool.waitUnlessCancelled(for: Task { await remove() })
    }

    private func remove() async {
        try? await wait { $0.isWriting }
        let file = output.withLock { output in
            defer { output.file = nil }
            return output.file
        }
        if let file { await BlockingThreadPool.run(at: folder.root) { _ = FileSystem.deleteIfPossible(file.path) } }
    }

    /// Whether the caller waits for a job; for tests.
    var isHeldUp: Bool { state.withLock { $0.waiter != nil } }

    /// Waits for the job while a condition is true.
    ///
    /// - Throws: `CancellationError` in a cancelled task, at once.
    private func wait(while condition: (State) -> Bool) async throws {
        while state.withLock({ condition($0) }) {
            await withTaskCancellationHandler {
                await withContinuation { (continuation: CheckedContinuation<Void, Never>) in
                    let mustWait = state.withLock { state in
                        // The job may have gone on meanwhile.
                        guard condition(state), !Task.isCancelled else { return false }
                        state.waiter = continuation
                        return true
                    }
                    if !mustWait { continuation.resume() }
                }
            } onCancel: {
                state.withLock { $0.takeWaiter() }?.resume()
            }
            try Task.checkCancellation()
        }
    }

    // MARK: The job

    /// Writes the bytes that wait, until there are few of them.
    private func writeWaiting() {
        while let pieces = takeWaiting() {
            do {
                try output.withLock { output in try self.write(pieces, &output) }
            } catch {
                let waiter = state.withLock { state in
                    (state.failure, state.waiting, state.isWriting) = (error, CacheFilePieces(), false)
                    return state.takeWaiter()
                }
                waiter?.resume()
                return
            }
        }
    }

    /// Returns the bytes that wait; `nil` at the end of the job, because there are few of them.
    private func takeWaiting() -> [Data]? {
        let (pieces, waiter) = state.withLock { state -> ([Data]?, CheckedContinuation<Void, Never>?) in
            state.isWriting = state.waiting.isWorthWriting
            return (state.isWriting ? state.waiting.take() : nil, state.takeWaiter())
        }
        waiter?.resume()
        return pieces
    }

    private func write(_ pieces: [Data], _ output: inout Output) throws {
        let file = try openedFile(&output)
        for piece in pieces {
            var rest = piece
            while !rest.isEmpty {
                let part = rest.prefix(Self.stepSize)
                output.table.add(part.bytes)
                try file.write(part, at: prologue.bodyStart + output.written)
                output.written += Int64(part.count)
                rest = rest.dropFirst(part.count)
            }
        }
    }

    private func openedFile(_ output: inout Output) throws -> RandomAccessFile {
        if let file = output.file { return file }
        let file = try folder.makeTemporaryFile()
        output.file = file
        try file.write(start, at: 0)
        return file
    }

    /// The prologue and the places of the heads.
    private var start: Data { prologue.start(with: head, revision: 1) }

    // MARK: The end

    private func finish() throws {
        let pieces = state.withLock { $0.waiting.take() }
        let (file, size) = try output.withLock { output in try self.complete(pieces, &output) }
        try onCommit(file, names, size)
        output.withLock { $0.file = nil }
    }

    /// Writes the end of the file, unless that was done by a commit that did not get a lock. Returns the file and its size.
    private func complete(_ pieces: [Data], _ output: inout Output) throws -> (RandomAccessFile, Int64) {
        if let file = output.file, let size = output.size { return (file, size) }
        let count = pieces.reduce(0) { $0 + $1.count }
        // Few bytes are copied, because that costs less than another call of the system.
        let isSmall = output.file == nil && count < CacheFilePieces.smallestPiece
        var data = isSmall ? start : Data()
        if isSmall {
            for piece in pieces {
                output.table.add(piece.bytes)
                data += piece
            }
        } else {
            try write(pieces, &output)
        }
        let length = output.written + (isSmall ? Int64(count) : 0)
        let table = output.table.table
        data += table
        data += CacheFileFormat.Trailer(bodyLength: length, number: prologue.number, table: table).encoded
        let offset = isSmall ? 0 : prologue.bodyStart + output.written
        let file = try output.file ?? folder.makeTemporaryFile()
        output.file = file
        try file.write(data, at: offset)
        let size = offset + Int64(data.count)
        output.size = size
        return (file, size)
    }
}

extension CacheFileFormat.Prologue {
    /// Returns the prologue of a new file, with room for a larger head.
    static func suitable(for head: Data) throws -> CacheFileFormat.Prologue {
        let capacity = (head.count + 256 + 63) / 64 * 64
        guard capacity <= CacheFileFormat.maximumCapacity else { throw DiskCacheStorage.TooLarge() }
        return CacheFileFormat.Prologue(number: .random(in: 1...(.max)), capacity: capacity)
    }

    /// Returns everything before the body, with the head in the first place.
    func start(with head: Data, revision: UInt64) -> Data {
        var data = encoded + CacheFileFormat.place(head, revision: revision, number: number)
        data.append(Data(count: Int(bodyStart) - data.count))
        return data
    }
}
