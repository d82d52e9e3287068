import Foundation
import Glibc

/// A network of its own for a test, with devices that the test sets up (`network_namespaces(7)`).
enum NetworkNamespace {
    /// A command that has failed in the namespace.
    struct Failure: Error {
        let what: String
    }

    /// Whether the process may create namespaces. In CI it must.
    static var isExpected: Bool { geteuid() == 0 || ProcessInfo.processInfo.environment["CI"] == "true" }

    /// Runs `body` in a new namespace, and returns the value of the task that it starts.
    ///
    /// A namespace belongs to a thread, and to the threads that it starts. Therefore, `body` creates the servers and the session itself,
    /// and starts its task with `Task.immediate`, so that the session's engine is started on the same thread.
    ///
    /// - Parameters:
    ///   - commands: The shell commands that set up the devices.
    ///   - hasOwnFiles: Whether the commands may mount files, which then exist for the threads of the namespace alone.
    static func run<Value: Sendable>(
        _ commands: [String], hasOwnFiles: Bool = false, _ body: @escaping @Sendable () throws -> Task<Value, any Error>
    ) async throws -> Value {
        let task = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try begin(commands, hasOwnFiles, body) })
            }
        }
        return try await task.value
    }

    private static func begin<Value: Sendable>(
        _ commands: [String], _ hasOwnFiles: Bool, _ body: @Sendable () throws -> Task<Value, any Error>
    ) throws -> Task<Value, any Error> {
        try leaveNetwork(andFiles: hasOwnFiles)
        for command in commands {
            guard unsafe system(command) == 0 else { throw Failure(what: command) }
        }
        return try body()
    }

    /// Gives the calling thread a network of its own, and a table of mounts of its own. Glibc's module map leaves out the function.
    static func leaveNetwork(andFiles hasOwnFiles: Bool) throws {
        typealias Unshare = @convention(c) (CInt) -> CInt
        guard let symbol = unsafe dlsym(nil, "unshare") else { throw Failure(what: "no unshare") }
        let unshare = unsafe unsafeBitCast(symbol, to: Unshare.self)
        let newNetwork: CInt = 0x4000_0000  // CLONE_NEWNET
        let newMounts: CInt = 0x2_0000  // CLONE_NEWNS
        let flags = hasOwnFiles ? newNetwork | newMounts : newNetwork
        guard unshare(flags) == 0 else { throw Failure(what: "unshare: errno \(errno)") }
    }
}
