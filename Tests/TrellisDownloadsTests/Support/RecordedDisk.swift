import CurlEngine
import Foundation
import TestSupport
import TrellisTesting

@testable import TrellisCore

/// A recorder of file operations, which knows the bytes that are certain to be on the disk: those that were written before a
/// synchronization began that has ended. Names take effect at once, which is the worst case for a checkpoint.
final class RecordedDisk: Sendable {
    private struct State: Sendable {
        var log: [String] = []
        var pending: [String: Data] = [:]
        var durable: [String: Data] = [:]
        var lies: [String] = []
        var failing: Set<String> = []
        var failingOnce: Set<String> = []
        var gates: [String: (isReached: LoopbackServer.Gate, mayGoOn: DispatchSemaphore)] = [:]
    }

    private let content: Data
    private let state = Locked(State())

    /// Creates the recorder.
    ///
    /// - Parameter content: The file that is downloaded.
    init(_ content: Data) { self.content = content }

    /// Runs `body`, and records the file operations of `body` and of all tasks that it starts.
    func recording<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        try await FileOperationHook.$handler.withValue({ self.handle($0, $1) }) { try await body() }
    }

    /// The operations so far, such as `write part 0..<10`, with the last components of the paths.
    var log: [String] { state.withLock { $0.log } }

    /// Checkpoints that listed bytes which were not on the disk, as messages.
    var lies: [String] { state.withLock { $0.lies } }

    /// Lets an operation fail from now on.
    func fail(_ entry: String) { state.withLock { _ = $0.failing.insert(entry) } }

    /// Lets the next such operation fail, and no later one: a system reports bytes that the disk refused once.
    func failOnce(_ entry: String) { state.withLock { _ = $0.failingOnce.insert(entry) } }

    /// Lets such operations wait for ``goOn(_:)``. A failure that is set meanwhile takes effect afterwards.
    func hold(_ entry: String) -> LoopbackServer.Gate {
        let gate = LoopbackServer.Gate()
        state.withLock { $0.gates[entry] = (gate, DispatchSemaphore(value: 0)) }
        return gate
    }

    func goOn(_ entry: String) { state.withLock { $0.gates.removeValue(forKey: entry) }?.mayGoOn.signal() }

    /// Returns the content of a partial file after a failure of the machine: its length is kept, and bytes that are not certain
    /// are zeros.
    func remains(of path: String) -> Data {
        let length = FileManager.default.contents(atPath: path)?.count ?? 0
        let durable = state.withLock { $0.durable[path] } ?? Data()
        return durable.prefix(length) + Data(count: max(0, length - durable.count))
    }

    private func handle(
        _ operation: FileOperationHook.Operation, _ moment: FileOperationHook.Moment
    ) -> FileError? {
        guard operation.isChange else { return nil }
        let entry = Self.entry(operation)
        if moment == .before {
            if let gate = state.withLock({ $0.gates[entry] }) {
                gate.isReached.open()
                gate.mayGoOn.waitForTest()
                // Several operations may wait.
                gate.mayGoOn.signal()
            }
            let fails = state.withLock { $0.failing.contains(entry) || $0.failingOnce.remove(entry) != nil }
            if fails { return FileError(reason: "it fails") }
        }
        switch (operation, moment) {
        case (.synchronize(let path), .before):
            let bytes = FileManager.default.contents(atPath: path)
            state.withLock { $0.pending[path] = bytes }
        case (.synchronize(let path), .after): state.withLock { $0.durable[path] = $0.pending[path] }
        case (.rename(let note, let name), .before): check(note, name)
        default: break
        }
        if moment == .after { state.withLock { $0.log.append(entry) } }
        return nil
    }

    /// Checks a checkpoint that is about to get its final name.
    private func check(_ note: String, _ name: String) {
        struct Note: Decodable { let done: [[Int]] }
        guard let bytes = FileManager.default.contents(atPath: note),
            let done = try? JSONDecoder().decode(Note.self, from: bytes).done, !done.isEmpty
        else { return }
        let part = name.replacingOccurrences(of: "trellis-note", with: "trellis-part")
        state.withLock { state in
            if state.durable[note] != bytes { state.lies.append("the note is not on the disk") }
            let durable = state.durable[part] ?? Data()
            for range in done
            where durable.count < range[1] || durable[range[0]..<range[1]] != content[range[0]..<range[1]] {
                state.lies.append("\(range) is not on the disk")
            }
        }
    }

    private static func entry(_ operation: FileOperationHook.Operation) -> String {
        func name(_ path: String) -> String {
            String(path.split(separator: "/").last?.split(separator: "-").last ?? "")
        }
        return switch operation {
        case .write(let path, let range): "write \(name(path)) \(range.lowerBound)..<\(range.upperBound)"
        case .synchronize(let path): "synchronize \(name(path))"
        case .rename(let path, let other): "rename \(name(path)) \(name(other))"
        case .remove(let path): "remove \(name(path))"
        case .synchronizeFolder: "synchronize folder"
        case .open, .read, .close, .list, .lock: ""
        }
    }
}
