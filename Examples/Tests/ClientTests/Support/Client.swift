import Foundation
import Testing

/// Runs the client to its end. At most four run at a time, so that the number of parallel tests does not matter.
///
///     let run = try await client(["\(url)/echo", "-d", "@-"], input: "piped")
///     #expect(run.text == "piped" && run.status == 0 && run.errors == "")
///
/// Without a folder, the client runs in a new one, and an issue is recorded if it has written anything there.
func client(
    _ arguments: [String], input: Input = .nothing, environment: [String: String] = [:],
    in folder: TemporaryFolder? = nil, sourceLocation: SourceLocation = #_sourceLocation
) async throws -> Run {
    await TaskSemaphore.clients.wait()
    defer { TaskSemaphore.clients.signal() }
    return try await start(arguments, input: input, environment: environment, in: folder)
        .ended(sourceLocation: sourceLocation)
}

/// Runs the client for a report, and compares its exit status. 1 stands for the status of the reported kind of failure.
///
///     let run = try await report(["\(url)/cut"], status: 1)
///     #expect(run.report["error"]["kind"] == "truncated_body")
func report(
    _ arguments: [String], status: Int32 = 0, input: Input = .nothing, environment: [String: String] = [:],
    in folder: TemporaryFolder? = nil, sourceLocation: SourceLocation = #_sourceLocation
) async throws -> Run {
    let run = try await client(
        ["--report", "json"] + arguments, input: input, environment: environment, in: folder,
        sourceLocation: sourceLocation)
    let wanted = status == 1 ? ExitStatus.of(run.report["error"]["kind"].text) : status
    #expect(run.status == wanted, "\(arguments): \(run.errors)", sourceLocation: sourceLocation)
    return run
}

/// The exit statuses of failures.
enum ExitStatus {
    /// Returns the status of a kind of failure: curl's number where there is one.
    static func of(_ kind: String) -> Int32 {
        let statuses: [String: Int32] = [
            "dns": 6, "connect": 7, "truncated_body": 18, "unacceptable_status": 22, "file": 23, "timeout_connect": 28,
            "timeout_idle": 28, "timeout_deadline": 28, "tls": 35, "too_many_redirects": 47, "send": 55, "receive": 56,
            "untrusted": 60, "content_coding": 61, "body_too_large": 63, "pin_mismatch": 90,
        ]
        return statuses[kind] ?? 1
    }
}

/// Starts the client, for a test that does something while it runs. It needs no permit.
func start(
    _ arguments: [String], input: Input = .nothing, environment: [String: String] = [:],
    in folder: TemporaryFolder? = nil
) throws -> RunningProgram {
    try RunningProgram("trellis", arguments, input: input, environment: environment, in: folder)
}

/// Starts the client in its turn, for a test that presses Ctrl-C: the client then has five seconds, or one for the other side of a
/// WebSocket. It counts as one of the four that run at a time, so the test must not run another one before the end of this one.
func startInTurn(
    _ arguments: [String], input: Input = .nothing, in folder: TemporaryFolder? = nil
) async throws -> RunningProgram {
    let permit = await TaskSemaphore.clients.permit()
    return try RunningProgram("trellis", arguments, input: input, environment: [:], in: folder, holding: permit)
}

/// Runs another program to its end: a path, a program of the package or one of the machine, such as `openssl`.
func tool(
    _ program: String, _ arguments: [String] = [], input: Input = .nothing, environment: [String: String] = [:],
    in folder: TemporaryFolder? = nil, sourceLocation: SourceLocation = #_sourceLocation
) async throws -> Run {
    try await RunningProgram(program, arguments, input: input, environment: environment, in: folder)
        .ended(sourceLocation: sourceLocation)
}

/// Runs a script in bash, which has the client in `$trellis` and the arguments in `$1` and so on.
///
///     let run = try await shell(#""$trellis" "$1" | head -c 1"#, ["\(url)/bytes/50000000"])
func shell(
    _ script: String, _ arguments: [String] = [], input: Input = .nothing, environment: [String: String] = [:],
    in folder: TemporaryFolder? = nil, sourceLocation: SourceLocation = #_sourceLocation
) async throws -> Run {
    await TaskSemaphore.clients.wait()
    defer { TaskSemaphore.clients.signal() }
    return try await tool(
        "bash", ["-c", script, "bash"] + arguments, input: input, environment: environment, in: folder,
        sourceLocation: sourceLocation)
}

/// Runs a script in Python to its end, by its name in `Tests/Peers` of the examples or by its path. At most four run at a time: all at
/// once, their programs would be slower than limits on time that are part of what they do.
func python(
    _ script: String, _ arguments: [String] = [], input: Input = .nothing, environment: [String: String] = [:],
    sourceLocation: SourceLocation = #_sourceLocation
) async throws -> Run {
    let python = try await Programs.python.value
    await TaskSemaphore.scripts.wait()
    defer { TaskSemaphore.scripts.signal() }
    return try await tool(
        python, [Programs.script(script)] + arguments, input: input, environment: environment,
        sourceLocation: sourceLocation)
}

/// Expects that arguments are a usage error: status 64 and no output. With a reason, one line of the errors contains it.
func expectUsageError(
    _ arguments: [String], saying reason: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let run = try await client(arguments, sourceLocation: sourceLocation)
    #expect(run.status == 64, "\(arguments): \(run.errors)", sourceLocation: sourceLocation)
    #expect(run.text == "", "\(arguments)", sourceLocation: sourceLocation)
    if let reason {
        let count = run.errors.lines(with: reason).count
        #expect(count == 1, "\(arguments): \(run.errors)", sourceLocation: sourceLocation)
    }
}

/// Runs a peer that checks something itself: a script in Python that prints a line NAME, WANTED, GOT with tabs for each
/// check. Records an issue for each difference, for a peer that fails, and for one that checks nothing.
func expectAgreement(
    of script: String, _ arguments: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let run = try await python(script, arguments, sourceLocation: sourceLocation)
    #expect(run.status == 0, "\(script) does not run to its end: \(run.errors)", sourceLocation: sourceLocation)
    #expect(!run.lines.isEmpty, "\(script) checks nothing", sourceLocation: sourceLocation)
    for line in run.lines {
        let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
        #expect(parts.count == 3, "not a check: \(line)", sourceLocation: sourceLocation)
        guard parts.count == 3 else { continue }
        #expect(parts[2] == parts[1], "\(parts[0])", sourceLocation: sourceLocation)
    }
}

/// Waits until a condition is true. The test's time limit ends the wait.
func wait(until isTrue: () async throws -> Bool) async throws {
    while try await !isTrue() { try await Task.sleep(for: .milliseconds(10)) }
}
