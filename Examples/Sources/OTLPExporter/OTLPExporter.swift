import CoreMetrics
import Synchronization
import Tracing
import Trellis

/// A tracer and a metrics factory, whose spans and metrics go through Trellis itself to a collector, as JSON over HTTP (OTLP 1.5).
///
/// ```swift
/// let exporter = OTLPExporter(collector: "http://localhost:4318/", service: "shop")
/// (observability.tracer, observability.metricsFactory) = (exporter, exporter)
/// configuration.observe(with: observability)
/// ```
///
/// The session of the exporter is not observed, so that an export makes no spans. In this JSON, integers of 64 bits are strings.
final class OTLPExporter: Tracer, MetricsFactory {
    /// The number of spans that wait for an export at most; the oldest are dropped.
    private static let maximumSpanCount = 2_048

    private let session: Session
    private let resource: JSONValue
    private let state = Mutex<(spans: [JSONValue], instruments: [[String]: OTLPInstrument])>(([], [:]))

    /// - Parameter collector: The URL of the collector, with a slash at its end.
    init(collector: String, service: String) {
        var configuration = SessionConfiguration()
        configuration.baseURL = collector
        configuration.timeouts.total = .seconds(10)
        // The protocol names these statuses, and allows that a POST is repeated.
        let policy = RetryPolicy(
            retryLimit: 4, exponentialBackoffScale: .milliseconds(100), retryableHTTPMethods: [.post],
            retryableHTTPStatusCodes: [429, 502, 503, 504])
        configuration.steps.intercept(with: policy)
        session = Session(configuration: configuration)
        resource = .object(["attributes": .attributes(["service.name": .string(service)])])
    }

    /// Exports at each interval, and a last time when the task is cancelled. After a failure, the next export sends the spans.
    func run(every interval: Duration = .seconds(10)) async {
        var isOver = false
        while !isOver {
            isOver = (try? await Task.sleep(for: interval)) == nil
            // A task of its own, which is not cancelled: a message that is cut off may have arrived, and would be sent again.
            _ = await Task { try await export() }.result
        }
    }

    /// Sends the spans that have ended since the last export, and the present values of the metrics.
    func export() async throws {
        let (spans, instruments) = state.withLock { state in
            defer { state.spans = [] }
            return (state.spans, Array(state.instruments.values))
        }
        do {
            if !spans.isEmpty { try await post(spans, to: "v1/traces", "resourceSpans", "scopeSpans", "spans") }
        } catch {
            state.withLock { $0.spans = Array((spans + $0.spans).suffix(Self.maximumSpanCount)) }
            throw error
        }
        let metrics = Dictionary(grouping: instruments) { "\($0.kind) \($0.label)" }.values.map { $0[0].metric(of: $0) }
        if !metrics.isEmpty { try await post(metrics, to: "v1/metrics", "resourceMetrics", "scopeMetrics", "metrics") }
    }

    private func post(
        _ items: [JSONValue], to path: String, _ resources: String, _ scopes: String, _ name: String
    ) async throws {
        let scope: JSONValue = .object(["scope": .object(["name": .string("trellis.example")]), name: .array(items)])
        let content: JSONValue = .object(["resource": resource, scopes: .array([scope])])
        let body = try RequestBody.json(JSONValue.object([resources: .array([content])]))
        _ = try await session.request(Request(path, method: .post, body: body)).validate().data()
    }

    // MARK: Spans

    func startSpan<Instant: TracerInstant>(
        _ name: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> OTLPSpan {
        OTLPSpan(name, context(), kind, start: instant().nanosecondsSinceEpoch) { [self] span in
            state.withLock { state in
                if state.spans.count == Self.maximumSpanCount { state.spans.removeFirst() }
                state.spans.append(span)
            }
        }
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

    // MARK: Metrics

    private func instrument(
        _ kind: OTLPInstrument.Kind, _ label: String, _ dimensions: [(String, String)]
    ) -> OTLPInstrument {
        state.withLock { state in
            let key = ["\(kind)", label] + dimensions.flatMap { [$0.0, $0.1] }
            let found = state.instruments[key] ?? OTLPInstrument(kind, label, dimensions)
            state.instruments[key] = found
            return found
        }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        instrument(.counter, label, dimensions)
    }
    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        instrument(.meter, label, dimensions)
    }
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        instrument(aggregate ? .sizes : .gauge, label, dimensions)
    }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        instrument(.seconds, label, dimensions)
    }

    // A series keeps its value when its last user has gone, as OpenTelemetry's do.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}
