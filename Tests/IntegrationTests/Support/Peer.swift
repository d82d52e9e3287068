import Foundation
import Testing

/// A Python server of `Tests/Peers`, run as a child process that ends with this process.
final class Peer: Sendable {
    /// The line that a peer prints when it begins to listen.
    struct Announcement: Decodable, Sendable {
        /// The path of the certificate authority that has signed the peer's certificates.
        let ca: String
        let ports: [String: Int]
    }

    let announcement: Announcement
    private let process: PythonProcess

    private init(_ process: PythonProcess, _ announcement: Announcement) {
        self.process = process
        self.announcement = announcement
    }

    /// Starts a peer. The task must be stored in a `static let`, so that each file is started once.
    static func started(_ file: String, _ arguments: String...) -> Task<Peer, any Error> {
        Task { try await startedOnce(file, arguments) }
    }

    /// Starts a peer for one test.
    static func startedOnce(_ file: String, _ arguments: [String]) async throws -> Peer {
        let process = try PythonProcess(["\(folder)/\(file)"] + arguments)
        let line = try await process.nextLine()
        return Peer(process, try JSONDecoder().decode(Announcement.self, from: Data(line.utf8)))
    }

    /// The servers of `real_servers.py`, which several suites share.
    static let realServers = started("real_servers.py")

    func url(_ port: String, _ path: String = "/", scheme: String = "https", host: String = "127.0.0.1") throws
        -> String
    {
        let number = try #require(announcement.ports[port])
        return "\(scheme)://\(host):\(number)\(path)"
    }

    /// Returns the peer's reply to a question.
    func answer<Answer: Decodable>(_ type: Answer.Type = Answer.self, to question: String) async throws -> Answer {
        try JSONDecoder().decode(Answer.self, from: Data(try await process.ask(question).utf8))
    }

    /// Waits until the peer has no connection.
    func waitUntilAllClosed() async throws {
        let answer = try await process.ask("drained")
        #expect(answer == #"{"open": 0}"#)
    }
}

extension Peer {
    /// The folder of the servers.
    static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Peers").standardizedFileURL.path

    /// The path of Python with the peers' packages; `nil` if `Tests/run.sh` did not install the packages.
    static let python = ProcessInfo.processInfo.environment["TRELLIS_TEST_PYTHON"]

    /// Whether suites with peers run. In CI they always run, and fail without peers.
    static let isExpected = python != nil || ProcessInfo.processInfo.environment["CI"] == "true"

    /// Returns whether a server from Debian's packages is installed. In CI, every server is expected.
    static func isInstalled(_ name: String) -> Bool {
        let environment = ProcessInfo.processInfo.environment
        let folders = (environment["PATH"] ?? "").split(separator: ":")
        return environment["CI"] == "true"
            || folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }

    /// Runs a program of `Tests/Peers` that ends by itself, and returns the line that it has printed.
    static func output(of file: String, _ arguments: [String]) async throws -> String {
        try await PythonProcess(["\(folder)/\(file)"] + arguments).nextLine()
    }
}

extension Trait where Self == ConditionTrait {
    /// Enables a test only if a server from Debian's packages is installed.
    static func requires(_ name: String) -> Self { .enabled(if: Peer.isInstalled(name), "needs \(name)") }

    /// Enables a test only if the Python peers can run.
    static var requiresPeers: Self {
        .enabled(if: Peer.isExpected, "needs the Python servers that Tests/run.sh sets up (TRELLIS_TEST_PYTHON)")
    }
}
