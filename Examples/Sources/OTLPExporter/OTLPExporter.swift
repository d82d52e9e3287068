import Synchronization
import Tracing
import Trellis

/// An exporter of spans and metrics, which go through Trellis itself to a collector, as JSON over HTTP (OTLP 1.5). It is a tracer and a
/// metrics factory, too.
///
/// ```swift
/// let exporter = OTLPExporter(collector: "http://localhost:4318/", service: "shop")
/// (observability.tracer, observability.metricsFactory) = (exporter, exporter)
/// configuration.observe(with: observability)
/// ```
///
/// The session of the exporter is not observed, so that an export makes no spans. In this JSON, integers of 64 bits are strings.
final class OTLPExporter: Sendable {
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
        configuration.retry = RetryPolicy(
            retryLimit: 4, exponentialBackoffScale: .milliseconds(100), retryableHTTPMethods: [.post],
            retryableHTTPStatusCodes: [429, 502, 503, 504])
        session = Session(configuration: configuration)
        resource = .object(["attributes": .attributes(["service.name": .string(service)])])
    }

    /// Exports at each interval, and a last time when the task is cancelled. After a failure, the next export sends the spans.
    ///
    /// - Throws: The error of the last export, whose contents are lost.
    func run(every interval: Duration = .seconds(10)) async throws {
        while true {
            let isOver = (try? await Task.sleep(for: interval)) == nil
            // A task of its own, which is not cancelled: a message that is cut off may have arrived, and would be sent again.
            let result = await Task { try await export() }.result
            if isOver { return try result.get() }
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

    // MARK: The contents of the next export

    /// Adds a span that has ended.
    func add(_ span: JSONValue) {
        state.withLock { state in
            if state.spans.count == Self.maximumSpanCount { state.spans.removeFirst() }
            state.spans.append(span)
        }
    }

    /// Returns the instrument of a series, made for its first user. A series keeps its value when its last user has gone, as
    /// OpenTelemetry's do.
    func instrument(
        _ kind: OTLPInstrument.Kind, _ label: String, _ dimensions: [(String, String)]
    ) -> OTLPInstrument {
        state.withLock { state in
            let key = ["\(kind)", label] + dimensions.flatMap { [$0.0, $0.1] }
            let found = state.instruments[key] ?? OTLPInstrument(kind, label, dimensions)
            state.instruments[key] = found
            return found
        }
    }
}
