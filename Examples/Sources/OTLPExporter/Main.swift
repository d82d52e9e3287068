import Synchronization
import Tracing
import Trellis
import TrellisObservability
import TrellisTesting

/// The `otlp-exporter [COLLECTOR]` program: makes some requests, and exports their spans and metrics to a collector, such as
/// `http://localhost:4318/`. Without one, a collector in the same process refuses the first export of spans, and its messages are printed:
/// the path, a tab and the JSON.
@main
enum Main {
    static func main() async throws {
        let collector = try Collector()
        let exporter = OTLPExporter(
            collector: CommandLine.arguments.dropFirst().first ?? collector.server.url("/"), service: "otlp-example")
        try await work(observedBy: exporter)
        try await exporter.export()
        for message in collector.messages { print(message) }
    }

    /// Makes requests in a span: a response, one that comes after a redirect, a status of 404, and a failure.
    private static func work(observedBy exporter: OTLPExporter) async throws {
        let server = try LoopbackServer.http { request in
            switch request.path {
            case "/users": .json(#"{"traceparent": "\#(request["traceparent"] ?? "")"}"#)
            case "/moved": .init(302, headers: [(name: "Location", value: "/users")])
            case "/cut": .init(body: .raw { _ in })
            default: .init(404)
            }
        }
        var observability = Observability()
        observability.tracer = exporter.tracer
        observability.metricsFactory = exporter.metrics
        observability.omitsEmptyDimensions = true
        var configuration = SessionConfiguration()
        configuration.baseURL = server.url("/")
        configuration.observe(with: observability)
        let session = Session(configuration: configuration)
        try await exporter.tracer.withSpan("job") { span in
            span.attributes["job.number"] = 42
            print(try await session.string("users"))
            _ = try await session.data("moved")
            _ = try await session.data("missing")
            _ = try? await session.data("cut")
            span.addEvent(SpanEvent(name: "done"))
        }
        await session.shutdown()
    }
}

/// A collector that refuses the first message with 503, and accepts all others.
private final class Collector: Sendable {
    private final class Store: Sendable {
        let state = Mutex<(messages: [String], requests: Int)>(([], 0))
    }

    private let store: Store
    let server: LoopbackServer

    init() throws {
        let store = Store()
        self.store = store
        server = try LoopbackServer.http { request in
            store.state.withLock { state in
                state.requests += 1
                if state.requests == 1 { return .init(503, headers: [(name: "Retry-After", value: "0")]) }
                state.messages.append("\(request.path)\t\(String(decoding: request.body, as: UTF8.self))")
                return .json("{}")
            }
        }
    }

    var messages: [String] { store.state.withLock { $0.messages } }
}
