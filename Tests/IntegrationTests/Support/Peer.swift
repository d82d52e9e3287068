import Foundation
import Testing

/// A Python server of `Tests/Peers`, run as a child process that ends with this one.
final class Peer: Sendable {
    /// What a peer prints when it listens.
    struct Announcement: Decodable, Sendable {
        /// The certificate authority that vouches for it.
        let ca: String
        let ports: [String: Int]
    }

    let announcement: Announcement
    private let child: Child

    private init(_ child: Child, _ announcement: Announcement) {
        self.child = child
        self.announcement = announcement
    }

    /// Starts a peer, once per file: `static let` it.
    static func started(_ file: String) -> Task<Peer, any Error> {
        Task {
            let child = try Child(["\(folder)/\(file)"])
            let line = try await child.nextLine()
            return Peer(child, try JSONDecoder().decode(Announcement.self, from: Data(line.utf8)))
        }
    }

    func url(_ port: String, _ path: String = "/", scheme: String = "https", host: String = "127.0.0.1") throws
        -> String
    {
        let number = try #require(announcement.ports[port])
        return "\(scheme)://\(host):\(number)\(path)"
    }

    /// Returns when the peer has no connection.
    func waitUntilAllClosed() async throws {
        let answer = try await child.ask("drained")
        #expect(answer == #"{"open": 0}"#)
    }
}

extension Peer {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Peers").standardizedFileURL.path

    /// The Python with the peers' packages; nil where `Tests/run.sh` did not set it up.
    static let python = ProcessInfo.processInfo.environment["TRELLIS_TEST_PYTHON"]

    /// Whether suites with peers run. In CI they do in any case, and fail without them.
    static let isExpected = python != nil || ProcessInfo.processInfo.environment["CI"] == "true"

    /// Runs a program of `Tests/Peers` that ends by itself, and returns the line it printed.
    static func output(of file: String, _ arguments: [String]) async throws -> String {
        try await Child(["\(folder)/\(file)"] + arguments).nextLine()
    }
}

extension Trait where Self == ConditionTrait {
    /// Needs the Python peers.
    static var requiresPeers: Self {
        .enabled(if: Peer.isExpected, "needs the Python servers that Tests/run.sh sets up (TRELLIS_TEST_PYTHON)")
    }
}

/// A Python process whose stdin and stdout are lines.
private final class Child: @unchecked Sendable {
    // Unchecked: `state` is only reached inside `withState`, which holds the lock.
    struct Ended: Error {}

    private struct State {
        /// Lines that nobody has asked for yet.
        var lines: [String] = []
        /// Those who wait for the next lines: first come, first served.
        var readers: [CheckedContinuation<String, any Error>] = []
        var hasEnded = false
    }

    private let input: FileHandle
    private let lock = NSLock()
    private var state = State()

    private func withState<Result>(_ body: (inout State) -> Result) -> Result { lock.withLock { body(&state) } }

    init(_ arguments: [String]) throws {
        let python = try #require(Peer.python, "TRELLIS_TEST_PYTHON is not set")
        let process = Process()
        process.executableURL = URL(filePath: python)
        process.arguments = ["-u"] + arguments
        let stdin = Pipe(), stdout = Pipe()
        process.standardInput = stdin
        process.standardOutput = stdout
        input = stdin.fileHandleForWriting
        try process.run()
        let output = stdout.fileHandleForReading
        // A thread of its own: a blocking read would hold up the concurrency pool.
        Thread.detachNewThread { [self] in
            var buffer = Data()
            while case let data = output.availableData, !data.isEmpty {
                buffer.append(data)
                while let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                    received(String(decoding: buffer[..<end], as: UTF8.self))
                    buffer = Data(buffer[buffer.index(after: end)...])
                }
            }
            ended()
        }
    }

    func ask(_ command: String) async throws -> String {
        // Written inside the lock, so that answers come in the order of their readers.
        try await nextLine { [self] in try? input.write(contentsOf: Data("\(command)\n".utf8)) }
    }

    func nextLine(after act: () -> Void = {}) async throws -> String {
        try await withCheckedThrowingContinuation { reader in
            let line: Result<String, any Error>? = withState { state in
                act()
                if !state.lines.isEmpty { return .success(state.lines.removeFirst()) }
                if state.hasEnded { return .failure(Ended()) }
                state.readers.append(reader)
                return nil
            }
            if let line { reader.resume(with: line) }
        }
    }

    private func received(_ line: String) {
        let reader = withState { state in
            if state.readers.isEmpty {
                state.lines.append(line)
                return CheckedContinuation<String, any Error>?.none
            }
            return state.readers.removeFirst()
        }
        reader?.resume(returning: line)
    }

    private func ended() {
        let readers = withState { state in
            state.hasEnded = true
            defer { state.readers = [] }
            return state.readers
        }
        for reader in readers { reader.resume(throwing: Ended()) }
    }
}
