import Tracing
import Trellis

/// The exporter as a tracer, which passes the identity of a span on in the field `traceparent` (W3C Trace Context).
extension OTLPExporter: Tracer {
    func startSpan<Instant: TracerInstant>(
        _ name: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> OTLPSpan {
        OTLPSpan(name, context(), kind, start: instant().nanosecondsSinceEpoch) { [self] span in add(span) }
    }

    func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let identity = context[OTLPSpan.Identity.Key.self] else { return }
        injector.inject("00-\(identity.trace)-\(identity.span)-01", forKey: "traceparent", into: &carrier)
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        let parts = extractor.extract(key: "traceparent", from: carrier)?.split(separator: "-").map(String.init) ?? []
        guard parts.count == 4, parts[1].utf8.count == 32, parts[2].utf8.count == 16 else { return }
        context[OTLPSpan.Identity.Key.self] = OTLPSpan.Identity(trace: parts[1], span: parts[2])
    }

    func forceFlush() {}
}
