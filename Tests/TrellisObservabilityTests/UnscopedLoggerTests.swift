#if Observability
import Logging
import Testing

@testable import TrellisObservability

/// The logger of requests outside of any scope, which has a label.
struct UnscopedLoggerTests {
    @Test func outsideOfAnyScopeTheLoggerHasALabel() {
        #expect(Observability().logger(at: .critical)?.label == "trellis.http")
    }

    @Test func theLoggerOfAScopeIsUsed() {
        let label = withLogger(Logger(label: "program")) { _ in Observability().logger(at: .critical)?.label }
        #expect(label == "program")
    }

    /// The metadata of a scope is kept, although the scope has no label.
    @Test func theMetadataOfAScopeIsKept() {
        let logger = withLogger(mergingMetadata: ["a": "b"]) { _ in Observability().logger(at: .critical) }
        #expect(logger?[metadataKey: "a"] == "b")
    }
}
#endif
