import Foundation
import Glibc
import Synchronization
import Testing

@testable import CurlEngine

/// A process that exits while its engines run.
@Suite(.timeLimit(.minutes(3)))
struct ProcessExitTests {
    private enum Calls {
        static let watch = CallWatch()
        static let mayEnd = Atomic(false), hasEnded = Atomic(false)
    }

    /// The functions that libcurl's libraries have registered for the exit run when no engine may call libcurl any more.
    @Test func noEngineCallsLibcurlWhenItsLibrariesEnd() async {
        await #expect(processExitsWith: .success) {
            // A function that is registered first runs last.
            atexit { if !Watchdog.shared.processExits { _exit(1) } }
            _ = LibcurlGlobals.shared
            exit(0)
        }
    }

    @Test func theExitWaitsForACallAndLetsNoOtherBegin() async {
        await #expect(processExitsWith: .success) {
            Watchdog.shared.add(Calls.watch)
            await withContinuation { continuation in
                Thread.detachNewThread {
                    Calls.watch.begin()
                    continuation.resume()
                    while !Calls.mayEnd.load(ordering: .acquiring) {}
                    Calls.hasEnded.store(true, ordering: .releasing)
                    _ = Calls.watch.end()
                    // Does not return.
                    Calls.watch.begin()
                    _exit(1)
                }
            }
            Watchdog.shared.processWillExit {
                Calls.mayEnd.store(true, ordering: .releasing)
                while !Calls.hasEnded.load(ordering: .acquiring) {}
            }
            expectInProcess(Calls.hasEnded.load(ordering: .acquiring))
            exit(0)
        }
    }

    /// Here the call is that of the thread which ends the process.
    @Test func aCallThatDoesNotEndDelaysTheExitForAMomentOnly() async {
        await #expect(processExitsWith: .success) {
            _ = LibcurlGlobals.shared
            Watchdog.shared.add(Calls.watch)
            Calls.watch.begin()
            exit(0)
        }
    }
}
