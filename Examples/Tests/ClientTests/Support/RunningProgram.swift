import Foundation
import Synchronization
import Testing

/// The standard input of a program.
enum Input: Sendable, ExpressibleByStringInterpolation {
    /// An end at once.
    case nothing
    /// A pipe with this text, of at most 64 KiB, and its end. A string literal is such an input.
    case bytes(Data)
    /// A file.
    case file(String)
    /// A pipe that stays open, to which `RunningProgram.write(_:)` adds.
    case open

    init(stringLiteral value: String) { self = .bytes(Data(value.utf8)) }

    /// Opens what the program reads, and what it is written to if it stays open.
    fileprivate func opened() throws -> (reader: FileHandle, writer: FileHandle?) {
        switch self {
        case .nothing: return (.nullDevice, nil)
        case .file(let path): return (try FileHandle(forReadingFrom: URL(fileURLWithPath: path)), nil)
        case .bytes, .open:
            let pipe = RunningProgram.launches.withLock { _ in
                let pipe = Pipe()
                for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
                    _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
                }
                return pipe
            }
            let reader = pipe.fileHandleForReading, writer = pipe.fileHandleForWriting
            guard case .bytes(let bytes) = self else { return (reader, writer) }
            precondition(bytes.count <= 64 << 10, "more than a pipe holds: use Input.file")
            try writer.write(contentsOf: bytes)
            try writer.close()
            return (reader, nil)
        }
    }
}

/// A program that runs in a process of its own. Its output goes to files, so that it never waits for a reader.
///
///     let talk = try start(["ws", "\(server)/echo"], input: .open)
///     talk.write("one\n")
///     try await talk.prints("one")
///     talk.interrupt()
///     let run = try await talk.ended()
final class RunningProgram: Sendable {
    private let name: String
    private let folder: TemporaryFolder
    private let emptyFolder: TemporaryFolder?
    /// The end that the program reads, which is kept open with the other one so that writing fails without a signal.
    private let input: FileHandle
    private let writer: FileHandle?
    private let process: Process
    private let permit: TaskSemaphore.Permit?
    private let status = Mutex<Int32?>(nil)
    private let end: Task<Void, Never>
    /// Processes and pipes are made one after another: a process could otherwise inherit the descriptor that tells the end of another one,
    /// or an end of its standard input.
    fileprivate static let launches = Mutex(())

    /// Starts a program: a path, a program of the package, or one of the machine. Without a folder, it runs in a new one,
    /// to which it may add nothing.
    ///
    /// - Parameter permit: The permit that is given back at the end of the program.
    init(
        _ program: String, _ arguments: [String], input: Input, environment: [String: String],
        in given: TemporaryFolder?, holding permit: TaskSemaphore.Permit? = nil
    ) throws {
        self.permit = permit
        name = ([program] + arguments).joined(separator: " ")
        let folder = try TemporaryFolder()
        self.folder = folder
        emptyFolder = given == nil ? try TemporaryFolder() : nil
        process = Process()
        let path = Programs.path(of: program)
        process.executableURL = URL(fileURLWithPath: path ?? "/usr/bin/env")
        process.arguments = path == nil ? [program] + arguments : arguments
        process.environment = Programs.environment.merging(environment) { _, own in own }
        process.currentDirectoryURL = URL(fileURLWithPath: (given ?? emptyFolder ?? folder).path)
        let (input, writer) = try input.opened()
        (self.input, self.writer) = (input, writer)
        let outputs = try ["output", "errors"].map { name in
            FileHandle(forWritingAtPath: try folder.write("", to: name)) ?? .nullDevice
        }
        (process.standardInput, process.standardOutput, process.standardError) = (input, outputs[0], outputs[1])
        let (ends, continuation) = AsyncStream.makeStream(of: Never.self)
        end = Task { for await _ in ends {} }
        process.terminationHandler = { [weak self] process in
            let isSignal = process.terminationReason == .uncaughtSignal
            self?.status.withLock { $0 = process.terminationStatus + (isSignal ? 128 : 0) }
            continuation.finish()
        }
        try Self.launches.withLock { _ in try process.run() }
        for output in outputs { try output.close() }
        if writer == nil, input !== FileHandle.nullDevice { try input.close() }
    }

    deinit {
        kill()
        folder.removeAll()
        emptyFolder?.removeAll()
    }

    /// The identifier of the process.
    var id: Int32 { process.processIdentifier }

    /// What it has written to its standard output so far.
    var output: Data { (try? folder.data(of: "output")) ?? Data() }

    /// The same as text.
    var text: String { String(decoding: output, as: UTF8.self) }

    /// What it has written to its standard error so far, without the loader's remark about another libcurl.
    var errors: String {
        let text = (try? folder.text(of: "errors")) ?? ""
        return text.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.contains("no version information available") }.joined(separator: "\n")
    }

    /// Waits until the standard output contains a text.
    func prints(_ text: String) async throws {
        try await wait(until: "prints '\(text)'") { $0.text.contains(text) }
    }

    /// Waits until the standard error contains a text.
    func says(_ text: String) async throws { try await wait(until: "says '\(text)'") { $0.errors.contains(text) } }

    /// Waits until a condition is true; throws if the program ends before.
    func wait(until what: String, _ isTrue: (RunningProgram) throws -> Bool) async throws {
        while try !isTrue(self) {
            if hasEnded, try !isTrue(self) {
                throw Failure("\(name) has ended before it \(what): \(errors)")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Whether the process has ended.
    var hasEnded: Bool { status.withLock { $0 != nil } }

    /// Writes to the standard input, which must be `Input.open`. Up to 64 KiB wait for the program.
    func write(_ text: String) { try? writer?.write(contentsOf: Data(text.utf8)) }

    /// Ends the standard input, which must be `Input.open`.
    func closeInput() { try? writer?.close() }

    /// Sends SIGINT, as Ctrl-C does.
    func interrupt() { send(SIGINT) }

    /// Sends SIGKILL.
    func kill() { send(SIGKILL) }

    /// Sends a signal, unless the process has ended.
    func send(_ signal: Int32) { if !hasEnded { Glibc.kill(id, signal) } }

    /// Waits for the end of the process. A test that is out of time kills it.
    @discardableResult
    func ended(sourceLocation: SourceLocation = #_sourceLocation) async throws -> Run {
        await withTaskCancellationHandler {
            await end.value
        } onCancel: {
            kill()
        }
        permit?.giveBack()
        try Task.checkCancellation()
        if let names = try emptyFolder?.names(), !names.isEmpty {
            Issue.record("\(name) has written \(names)", sourceLocation: sourceLocation)
        }
        return Run(status: status.withLock { $0 } ?? -1, output: output, errors: errors)
    }
}
