import Foundation
import Glibc
import Testing

/// A Python process whose standard input and output are lines.
final class PythonProcess: @unchecked Sendable {
    // Unchecked: `state` is only accessed inside `withState`, which holds the lock.

    /// The end of the process before the next line.
    struct Ended: Error {}

    /// The lines of the output, and their readers.
    private struct State {
        /// The lines that were not read yet.
        var lines: [String] = []
        /// The continuations of the readers of the next lines, in order of arrival.
        var readers: [CheckedContinuation<String, any Error>] = []
        var hasEnded = false
    }

    /// Held while a process is started: otherwise another one could inherit a pipe before it is marked, and keep it open.
    private static let starting = NSLock()

    private let input: FileHandle
    private let lock = NSLock()
    private var state = State()

    private func withState<Result>(_ body: (inout State) -> Result) -> Result { lock.withLock { body(&state) } }

    init(_ arguments: [String]) throws {
        let python = try #require(Peer.python, "TRELLIS_TEST_PYTHON is not set")
        let (pid, stdin, stdout) = try Self.starting.withLock {
            let stdin = try Self.pipe(), stdout = try Self.pipe()
            defer {
                close(stdin.reading)
                close(stdout.writing)
            }
            return (
                try Self.spawn(python, ["-u"] + arguments, stdin: stdin.reading, stdout: stdout.writing), stdin, stdout
            )
        }
        input = FileHandle(fileDescriptor: stdin.writing)
        let output = FileHandle(fileDescriptor: stdout.reading)
        // A blocking read uses its own thread, because it would block the concurrency pool.
        Thread.detachNewThread { [self] in
            var buffer = Data()
            while case let data = output.availableData, !data.isEmpty {
                buffer.append(data)
                while let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                    received(String(decoding: buffer[..<end], as: UTF8.self))
                    buffer = Data(buffer[buffer.index(after: end)...])
                }
            }
            // The end of the process is awaited here, because otherwise Swift Testing sees no other child end, and its exit tests wait
            // forever.
            _ = waitpid(pid, nil, 0)
            ended()
        }
    }

    func ask(_ command: String) async throws -> String {
        // The command is written inside the lock, so that replies arrive in the order of their readers.
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

/// The start of the process with functions of the C library. Foundation's `Process` reads beyond a buffer when it searches for open files,
/// which the address sanitizer reports.
extension PythonProcess {
    private static func pipe() throws -> (reading: CInt, writing: CInt) {
        var ends: [CInt] = [-1, -1]
        let status = unsafe Glibc.pipe(&ends)
        try #require(status == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func spawn(_ program: String, _ arguments: [String], stdin: CInt, stdout: CInt) throws -> pid_t {
        // The library path is for the libcurl under test.
        let environment = ProcessInfo.processInfo.environment.filter { $0.key != "LD_LIBRARY_PATH" }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, stdin, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, stdout, 1)
        var pid = pid_t()
        let status = unsafe withCStrings([program] + arguments) { argv in
            unsafe withCStrings(environment.map { "\($0.key)=\($0.value)" }) { envp in
                unsafe posix_spawn(&pid, program, &actions, nil, argv, envp)
            }
        }
        try #require(status == 0, "cannot start \(program)")
        return pid
    }

    @unsafe private static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers = unsafe strings.map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        defer { unsafe pointers.forEach { unsafe free($0) } }
        return unsafe body(&pointers)
    }
}
