import CurlEngine
import Foundation
import TrellisTesting

@testable import Trellis

/// Records what is done to files, and knows what their disk holds for certain: what was written before a synchronization began
/// that has ended. Names are on it at once, which is the worst that can happen to a note.
final class RecordedDisk: Sendable {
    private struct State: Sendable {
        var log: [String] = []
        var pending: [String: Data] = [:]
        var durable: [String: Data] = [:]
        var lies: [String] = []
        var failing: Set<String> = []
        var gates: [String: (isReached: LoopbackServer.Gate, mayGoOn: DispatchSemaphore)] = [:]
    }

    private let content: Data
    private let state = Locked(State())

    /// - Parameter content: The file that is downloaded.
    init(_ content: Data) { self.content = content }

    /// Runs `body`, and records what it, and all that it starts, does to files.
    func recording<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        try await DiskWatch.$handler.withValue({ self.handle($0, $1) }) { try await body() }
    }

    /// What has been done, as `write part 0..<10`: the last parts of names.
    var log: [String] { state.withLock { $0.log } }

    /// Notes that listed what was not on the disk, in words.
    var lies: [String] { state.withLock { $0.lies } }

    /// Has an operation fail from now on.
    func fail(_ entry: String) { state.withLock { _ = $0.failing.insert(entry) } }

    /// Has the next such operation wait for ``goOn(_:)``.
    func hold(_ entry: String) -> LoopbackServer.Gate {
        let gate = LoopbackServer.Gate()
        state.withLock { $0.gates[entry] = (gate, DispatchSemaphore(value: 0)) }
        return gate
    }

    func goOn(_ entry: String) { state.withLock { $0.gates.removeValue(forKey: entry) }?.mayGoOn.signal() }

    /// What is left of a partial file when the machine fails: as long as it is, and zeros where nothing is certain.
    func remains(of path: String) -> Data {
        let length = FileManager.default.contents(atPath: path)?.count ?? 0
        let durable = state.withLock { $0.durable[path] } ?? Data()
        return durable.prefix(length) + Data(count: max(0, length - durable.count))
    }

    private func handle(_ operation: DiskWatch.Operation, _ moment: DiskWatch.Moment) -> FileReader.Failure? {
        let entry = Self.entry(operation)
        if moment == .before {
            if state.withLock({ $0.failing.contains(entry) }) { return FileReader.Failure(why: "it fails") }
            if let gate = state.withLock({ $0.gates[entry] }) {
                gate.isReached.open()
                gate.mayGoOn.wait()
            }
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

    /// A note that is about to get its name.
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

    private static func entry(_ operation: DiskWatch.Operation) -> String {
        func name(_ path: String) -> String {
            String(path.split(separator: "/").last?.split(separator: "-").last ?? "")
        }
        return switch operation {
        case .write(let path, let range): "write \(name(path)) \(range.lowerBound)..<\(range.upperBound)"
        case .synchronize(let path): "synchronize \(name(path))"
        case .rename(let path, let other): "rename \(name(path)) \(name(other))"
        case .remove(let path): "remove \(name(path))"
        case .synchronizeFolder: "synchronize folder"
        }
    }
}
