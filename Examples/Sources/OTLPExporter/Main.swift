import Glibc
import Tracing
import Trellis
import TrellisObservability

/// The program `otlp-exporter COLLECTOR URL…`: requests the URLs in a span, and exports the spans and the metrics of the requests to a
/// collector, such as `http://localhost:4318/`, while they run and at the end. It ends with 1 if the collector does not get the last
/// export.
@main
enum Main {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        guard let collector = arguments.first, arguments.count > 1 else {
            print("usage: otlp-exporter COLLECTOR URL…")
            exit(64)
        }
        let exporter = OTLPExporter(collector: collector, service: "otlp-example")
        let export = Task { try await exporter.run(every: .milliseconds(20)) }
        await request(Array(arguments.dropFirst()), observedBy: exporter)
        export.cancel()
        do {
            try await export.value
        } catch {
            print("otlp-exporter: the collector has not got everything: \(error)")
            exit(1)
        }
    }

    private static func request(_ urls: [String], observedBy exporter: OTLPExporter) async {
        var observability = Observability()
        (observability.tracer, observability.metricsFactory) = (exporter, exporter)
        observability.omitsEmptyDimensions = true
        var configuration = SessionConfiguration()
        configuration.observe(with: observability)
        let session = Session(configuration: configuration)
        await exporter.withSpan("job") { span in
            span.updateAttributes { $0.set("job.requests", value: .int64(Int64(urls.count))) }
            for url in urls { _ = try? await session.data(url) }
            span.addEvent(SpanEvent(name: "done"))
        }
        await session.shutdown()
    }
}
