#if Observability
import CoreMetrics
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit
import Tracing
import Trellis

/// A logger, a tracer and a metrics factory that keep everything in memory.
struct Backends: Sendable {
    let tracer = InMemoryTracer()
    let metrics = TestMetrics()
    let log: InMemoryLogHandler

    init(level: Logger.Level = .trace, metadataProvider: Logger.MetadataProvider? = nil) {
        var log = InMemoryLogHandler()
        (log.logLevel, log.metadataProvider) = (level, metadataProvider)
        self.log = log
    }

    var logger: Logger { Logger(label: "test") { [log] _ in log } }

    /// Runs a closure in the scope of the backends.
    func callAsFunction<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        try await withTracer(tracer) {
            try await withMetricsFactory(metrics) {
                try await withLogger(logger) { _ in try await body() }
            }
        }
    }

    /// The spans that have ended, in that order.
    var spans: [FinishedInMemorySpan] { tracer.finishedSpans }

    /// Waits until a number of spans have ended.
    func waitForSpans(_ count: Int) async {
        while spans.count < count, !Task.isCancelled { await Task.yield() }
    }

    /// The only value of a timer, in nanoseconds; `nil` if there is not exactly one.
    func time(_ label: String, _ dimensions: [(String, String)]) -> Int64? {
        guard let values = try? metrics.expectTimer(label, dimensions).values, values.count == 1 else { return nil }
        return values.first
    }

    /// The values of a dimension in all timers of the duration.
    func values(of dimension: String) -> Set<String> {
        Set(metrics.timers(label: "http.client.request.duration").compactMap { $0.dimensions.value(of: dimension) })
    }
}

extension [(String, String)] {
    func value(of name: String) -> String? { first { $0.0 == name }?.1 }
}

extension FinishedInMemorySpan {
    /// The attributes as a dictionary.
    var values: [String: SpanAttribute] {
        var values: [String: SpanAttribute] = [:]
        attributes.forEach { values[$0] = $1 }
        return values
    }

    subscript(_ name: String) -> SpanAttribute? { attributes.get(name) }
}

extension InMemoryLogHandler.Entry {
    /// A value of the metadata, as text.
    subscript(_ name: String) -> String? { metadata[name].map { "\($0)" } }
}
#endif
