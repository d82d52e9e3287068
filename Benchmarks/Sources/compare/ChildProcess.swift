import Foundation
import Glibc

/// A command under `supervise`. The command ends when this process ends for any reason, because this process holds the other end of the
/// supervisor's standard input.
final class ChildProcess {
    /// The end of a command, with its output.
    struct Outcome {
        var status: Int32
        var output: String
        var errors: String
    }

    private let pid: pid_t
    /// The writing end of the supervisor's standard input.
    private let lifeline: Int32
    private let output: Int32
    private let errorsPath: String

    /// Starts a command.
    ///
    /// - Parameters:
    ///   - command: The program and its arguments.
    ///   - supervisor: The supervisor and its options.
    ///   - libraryPath: The LD_LIBRARY_PATH of the command; `nil` if none is set.
    ///   - errorsPath: The file that receives standard error.
    init(_ command: [String], supervisor: [String], libraryPath: String? = nil, errorsPath: String) throws {
        let input = try Pipe(), output = try Pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.reading, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output.writing, STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errorsPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)

        var environment = ProcessInfo.processInfo.environment
        environment["LD_LIBRARY_PATH"] = libraryPath
        let variables = environment.map { "\($0)=\($1)" }
        let words = supervisor + ["--"] + command
        var pid = pid_t()
        let failure = withCStrings(words) { words in
            withCStrings(variables) { posix_spawn(&pid, supervisor[0], &actions, nil, words, $0) }
        }
        close(input.reading)
        close(output.writing)
        guard failure == 0 else {
            close(input.writing)
            close(output.reading)
            throw Failure("cannot start \(command[0]): \(String(cString: strerror(failure)))")
        }
        self.pid = pid
        lifeline = input.writing
        self.output = output.reading
        self.errorsPath = errorsPath
    }

    /// Waits for the first line of output, and returns that line.
    func firstLine() -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        return String(decoding: line, as: UTF8.self)
    }

    /// Waits until the command has ended, and returns its outcome.
    func wait() -> Outcome {
        let text = contents(of: output)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        let code = status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
        return Outcome(status: code, output: text, errors: (try? readFile(errorsPath)) ?? "")
    }

    /// Whether the command is still running.
    var isRunning: Bool { waitpid(pid, nil, WNOHANG) == 0 }

    deinit {
        close(lifeline)
        close(output)
        waitpid(pid, nil, 0)
    }
}

/// A pipe, both ends of which are closed in every program that is started.
private struct Pipe {
    let reading, writing: Int32

    init() throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure("no more pipes") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        reading = ends[0]
        writing = ends[1]
    }
}

/// Calls a closure with the words as a null-terminated array of C strings.
private func withCStrings<R>(_ words: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R) -> R {
    let copies = words.map { strdup($0) }
    defer { copies.forEach { free($0) } }
    return body(copies + [nil])
}
