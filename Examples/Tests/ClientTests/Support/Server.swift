import Foundation
import Synchronization
import Testing

/// A server in a process of its own. It prints a line when it serves, such as its URL, and ends with its standard input: with
/// `end()`, or with the test process.
///
/// The tests of a suite share a server:
///
///     static let proxies = Task { try await Server.python("\(Programs.sharedPeers)/https_proxy.py") }
///
///     @Test func somethingOfProxies() async throws {
///         let proxies = try await Self.proxies.value
///         let port = try proxies.json["ports"]["proxy"]
final class Server: Sendable {
    /// The first line.
    let line: String
    private let program: RunningProgram
    private let lineCount = Mutex(1)

    private init(_ program: RunningProgram) {
        self.program = program
        line = program.text.lines.first ?? ""
    }

    /// Starts a server, and waits for its line. At most two start at a time.
    static func start(_ program: String, _ arguments: [String] = [], environment: [String: String] = [:]) async throws
        -> Server
    {
        await TaskSemaphore.servers.wait()
        defer { TaskSemaphore.servers.signal() }
        let folder = try TemporaryFolder()
        let program = try RunningProgram(program, arguments, input: .open, environment: environment, in: folder)
        try await program.prints("\n")
        return Server(program)
    }

    /// Starts a server that is a script in Python, by its name in `Tests/Peers` of the examples or by its path.
    static func python(_ script: String, _ arguments: [String] = []) async throws -> Server {
        // The shell keeps the descriptor whose end tells Foundation of the end of a process: shared peers close what they inherit.
        let python = try await Programs.python.value
        return try await start("sh", ["-c", #""$@"; exit $?"#, "sh", python, Programs.script(script)] + arguments)
    }

    /// Starts the fixture server. It serves within milliseconds, for which this waits without leaving the thread.
    fileprivate convenience init(fixture arguments: [String]) {
        do {
            let folder = try TemporaryFolder()
            let program = try RunningProgram("fixture-server", arguments, input: .open, environment: [:], in: folder)
            while !program.text.hasSuffix("\n") {
                if program.hasEnded { throw Failure(program.errors) }
                usleep(1000)
            }
            self.init(program)
        } catch { fatalError("the fixture server cannot be started: \(error)") }
    }

    /// The first line as JSON.
    var json: JSON { get throws { try JSON(parsing: Data(line.utf8)) } }

    /// Sends a line to the standard input, and returns the next line of the output. One test at a time may do so.
    func ask(_ command: String) async throws -> String {
        let count = lineCount.withLock { count in
            count += 1
            return count
        }
        program.write("\(command)\n")
        try await program.wait(until: "answers '\(command)'") { program in
            program.text.hasSuffix("\n") && program.text.lines.count >= count
        }
        return program.text.lines[count - 1]
    }

    /// Ends the server.
    func end() async throws {
        program.closeInput()
        try await program.ended()
    }
}

/// The fixture servers of all tests, each of which starts with its first use. A server has a state only for `/flaky/N` and
/// `/ranges/SIZE/FATE`, by target: a test gives these a query or a size that no other one gives.
enum Fixture {
    static let tcp = Server(fixture: [])
    /// Listens on a Unix socket at `socket`.
    static let unix = Server(fixture: [socket])
    /// Listens on an abstract Unix socket of the name `abstractName`.
    static let abstract = Server(fixture: ["@\(abstractName)"])
    /// Listens on a port of IPv6.
    static let six = Server(fixture: ["::1"])

    static let socket: String = {
        do { return try TemporaryFolder()["socket"] } catch { fatalError("\(error)") }
    }()
    static let abstractName = "trellis-test-\(getpid())"
}

/// The URL of the fixture server, without a path.
let url = Fixture.tcp.line
