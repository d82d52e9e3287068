import CoreMetrics
import ServiceLifecycle
import Synchronization
import Tracing
import Trellis

/// An exporter of spans and metrics to a collector, as JSON over HTTP (OTLP 1.5), which sends them through Trellis.
///
/// ```swift
/// let exporter = OTLPExporter(collector: "http://localhost:4318/", service: "shop")
/// var observability = Observability()
/// (observability.tracer, observability.metricsFactory) = (exporter.tracer, exporter.metrics)
/// configuration.observe(with: observability)
/// ```
///
/// The session of the exporter is not observed, so that an export makes no spans of its own.
final class OTLPExporter: Service {
    /// The number of spans that wait for an export at most; the oldest are dropped.
    private static let maximumSpanCount = 2_048

    /// The factory of the metrics that are exported.
    let metrics = OTLPMetrics()
    private let session: Session
    private let interval: Duration
    private let resource: JSONValue
    private let spans = Mutex<(waiting: [JSONValue], dropped: Int)>(([], 0))

    /// Creates an exporter.
    ///
    /// - Parameters:
    ///   - collector: The URL of the collector, with a slash at its end.
    ///   - service: The name of the service, the attribute `service.name` of the resource.
    ///   - interval: The time between two exports of ``run()``.
    init(collector: String, service: String, interval: Duration = .seconds(10)) {
        var configuration = SessionConfiguration()
        configuration.baseURL = collector
        configuration.timeouts.total = .seconds(10)
        // The protocol names these statuses, and allows that a POST is repeated.
        configuration.steps.intercept(
            with: RetryPolicy(
                retryLimit: 4, exponentialBackoffScale: .milliseconds(100), retryableHTTPMethods: [.post],
                retryableHTTPStatusCodes: [429, 502, 503, 504]))
        session = Session(configuration: configuration)
        self.interval = interval
        resource = .object(["attributes": .attributes(["service.name": .string(service)])])
    }

    /// The tracer of the spans that are exported.
    var tracer: OTLPTracer { OTLPTracer { [self] span in record(span) } }

    /// Exports at each interval until the service is told to end or is cancelled, and a last time then.
    func run() async throws {
        var isOver = false
        while !isOver {
            // Only the wait ends early: an export that is cut off may have arrived, and would be sent again.
            isOver = await cancelWhenGracefulShutdown { [interval] in
                (try? await Task.sleep(for: interval)) == nil
            }
            // The export has a task of its own, which the cancellation of the service does not reach. A failure is one of the collector,
            // and the next export may succeed.
            _ = await Task { [self] in try await export() }.result
        }
        await session.shutdown()
    }

    /// Sends the spans that have ended since the last export, and the present values of the metrics.
    ///
    /// - Throws: The error of the first request that failed. Its spans are exported with the next ones.
    func export() async throws {
        let batch = spans.withLock { spans in
            defer { spans.waiting = [] }
            return spans.waiting
        }
        do {
            if !batch.isEmpty { try await post(batch, to: "v1/traces", "resourceSpans", "scopeSpans", "spans") }
        } catch {
            putBack(batch)
            throw error
        }
        let values = metrics.values
        if !values.isEmpty { try await post(values, to: "v1/metrics", "resourceMetrics", "scopeMetrics", "metrics") }
    }

    private func post(
        _ items: [JSONValue], to path: String, _ resources: String, _ scopes: String, _ name: String
    ) async throws {
        let scope: JSONValue = .object(["scope": .object(["name": .string("trellis.example")]), name: .array(items)])
        let content: JSONValue = .object(["resource": resource, scopes: .array([scope])])
        let body = try RequestBody.json(JSONValue.object([resources: .array([content])]))
        _ = try await session.request(Request(path, method: .post, body: body)).validate().data()
    }

    /// Puts spans in front of those that have ended since, and drops the oldest of all.
    private func putBack(_ batch: [JSONValue]) {
        spans.withLock { spans in
            spans.waiting.insert(contentsOf: batch, at: 0)
            let surplus = spans.waiting.count - Self.maximumSpanCount
            guard surplus > 0 else { return }
            spans.waiting.removeFirst(surplus)
            spans.dropped += surplus
        }
    }

    private func record(_ span: JSONValue) {
        spans.withLock { spans in
            if spans.waiting.count >= Self.maximumSpanCount {
                spans.waiting.removeFirst()
                spans.dropped += 1
            }
            spans.waiting.append(span)
        }
    }

    /// The number of spans that were dropped because the collector took none.
    var droppedCount: Int { spans.withLock { $0.dropped } }
}
