package import CurlEngine
import Foundation
package import TrellisTesting

/// A disk on which operations do not end until a test lets them go on.
package final class HangingDisk: Sendable {
    /// Opens when an operation waits.
    package let isReached = LoopbackServer.Gate()
    private let mayGoOn = DispatchSemaphore(value: 0)
    private let counts = Locked(0)

    package init() {}

    /// The number of operations that have waited.
    package var operationCount: Int { counts.withLock { $0 } }

    /// Runs `body`. Of the file operations of `body` and of all tasks that it starts, those that a condition names wait.
    package func hanging<Value>(
        at isSlow: @escaping @Sendable (FileOperationHook.Operation) -> Bool, _ body: () async throws -> Value
    ) async rethrows -> Value {
        let handler: FileOperationHook.Handler = { [self] operation, moment in
            guard moment == .after, isSlow(operation) else { return nil }
            counts.withLock { $0 += 1 }
            isReached.open()
            mayGoOn.waitForTest()
            // Several operations may wait.
            mayGoOn.signal()
            return nil
        }
        return try await FileOperationHook.$handler.withValue(handler) { try await body() }
    }

    /// Lets all operations go on.
    package func goOn() { mayGoOn.signal() }

    /// Returns whether an operation opens a file for reading.
    package static func isOpening(_ operation: FileOperationHook.Operation) -> Bool {
        if case .open = operation { true } else { false }
    }

    /// Returns whether an operation reads bytes of a file.
    package static func isReading(_ operation: FileOperationHook.Operation) -> Bool {
        if case .read = operation { true } else { false }
    }
}
