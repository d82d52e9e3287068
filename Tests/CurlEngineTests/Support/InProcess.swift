import Foundation
import Glibc
import Testing
import TrellisCore
import TrellisTesting

@testable import CurlEngine

/// Ends the process of an exit test with a failure, unless the condition holds. The issue is passed to the test's process, which prints it.
func expectInProcess(
    _ condition: Bool, _ comment: @autoclosure () -> String = "", sourceLocation: SourceLocation = #_sourceLocation
) {
    guard !condition else { return }
    Issue.record("the condition does not hold: \(comment())", sourceLocation: sourceLocation)
    exit(1)
}

/// Waits until no thread of an engine exists. A thread may still run its last steps when its end is reported.
func untilNoEngineThread() async {
    while !ProcessFacts.threads(named: "trellis-engine").isEmpty, !Task.isCancelled { await Task.yield() }
}

/// Lets real time pass, in a test that measures real time.
func pause(milliseconds: Int) { _ = poll(nil, 0, Int32(milliseconds)) }

/// Sends a few requests, and ends the session.
func useASession() async throws {
    let server = try LoopbackServer.http { _ in .text("hello") }
    let session = Session()
    try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<10 { group.addTask { _ = try await session.data(server.url()) } }
        try await group.waitForAll()
    }
    await session.shutdown()
    try await server.waitUntilAllClosed()
    server.stop()
    await untilNoEngineThread()
}
