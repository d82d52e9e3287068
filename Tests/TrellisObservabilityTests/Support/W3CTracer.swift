#if Observability
import Tracing

/// A tracer of the user's, which drops its spans and writes the fields of W3C Trace Context and of W3C Baggage.
struct W3CTracer: Tracer {
    static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    static let child = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"

    /// Runs a closure with the tracer, in a context with a parent and baggage.
    static func within(_ baggage: String?, _ body: @Sendable () async throws -> Void) async throws {
        var context = InstrumentationContext.topLevel
        context.traceParent = parent
        context.baggage = baggage
        let asked = context
        try await withTracer(W3CTracer()) {
            try await InstrumentationContext.withValue(asked) { try await body() }
        }
    }

    func startSpan<Instant: TracerInstant>(
        _ name: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> NoOpTracer.NoOpSpan {
        var context = context()
        context.traceParent = Self.child
        return NoOpTracer.NoOpSpan(context: context)
    }

    func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        if let parent = context.traceParent { injector.inject(parent, forKey: "traceparent", into: &carrier) }
        if let baggage = context.baggage { injector.inject(baggage, forKey: "baggage", into: &carrier) }
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {}

    func forceFlush() {}
}

extension InstrumentationContext {
    private enum ParentKey: InstrumentationContextKey { typealias Value = String }
    private enum BaggageKey: InstrumentationContextKey { typealias Value = String }

    var traceParent: String? {
        get { self[ParentKey.self] }
        set { self[ParentKey.self] = newValue }
    }

    var baggage: String? {
        get { self[BaggageKey.self] }
        set { self[BaggageKey.self] = newValue }
    }
}
#endif
