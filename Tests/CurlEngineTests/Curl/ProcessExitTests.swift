import Foundation
import Glibc
import Synchronization
import Testing
import TrellisTesting

@testable import CurlEngine

/// A process that exits while its engines run.
@Suite(.timeLimit(.minutes(3)))
struct ProcessExitTests {
    /// The functions that libcurl's libraries have registered for the exit run without a call into libcurl beside them.
    @Test func noEngineIsInLibcurlWhenItsLibrariesEnd() async {
        await #expect(processExitsWith: .success) {
            // A function that is registered first runs last.
            atexit {
                if Calls.watch.isInside || !Calls.hasEnded.load(ordering: .acquiring) { _exit(1) }
            }
            _ = LibcurlGlobals.shared
            Watchdog.shared.add(Calls.watch)
            let begun = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                Calls.watch.begin()
                begun.signal()
                while !Watchdog.shared.processExits {}
                Calls.hasEnded.store(true, ordering: .releasing)
                _ = Calls.watch.end()
                // Does not return.
                Calls.watch.begin()
                _exit(1)
            }
            begun.wait()
            exit(0)
        }
    }

    private enum Calls {
        static let watch = CallWatch()
        static let hasEnded = Atomic(false)
    }

    @Test func aCallThatDoesNotEndDelaysTheExitForAMomentOnly() async {
        await #expect(processExitsWith: .success) {
            _ = LibcurlGlobals.shared
            Watchdog.shared.add(Calls.watch)
            Calls.watch.begin()
            exit(0)
        }
    }
}
