#if Service
import Logging
import Testing

@testable import TrellisService

/// The logger of a service outside of any scope, which has a label.
struct UnscopedLoggerTests {
    @Test func outsideOfAnyScopeTheLoggerHasALabel() {
        #expect(SessionService.currentLogger.label == "trellis.service")
    }

    @Test func theLoggerOfAScopeIsUsed() {
        let label = withLogger(Logger(label: "program")) { _ in SessionService.currentLogger.label }
        #expect(label == "program")
    }

    /// The metadata of a scope is kept, although the scope has no label.
    @Test func theMetadataOfAScopeIsKept() {
        let logger = withLogger(mergingMetadata: ["a": "b"]) { _ in SessionService.currentLogger }
        #expect(logger[metadataKey: "a"] == "b")
    }
}
#endif
