import Synchronization
import Tracing
import Trellis
import TrellisObservability
import TrellisTesting

/// The `otlp-exporter [COLLECTOR]` program: makes some requests, and exports their spans and metrics to a collector, such as
/// `http://localhost:4318/`. Without one, a collector in the same process refuses the first export of spans, and its messages are printed:
/// the path, a tab and the JSON. The exporter is also run as a service that is cancelled during an export, and at last another one is
/// filled with more spans than it keeps.
@main
enum Main {
    static func main() async throws {
        let collector = try Collector()
        let other = CommandLine.arguments.dropFirst().first
        let exporter = OTLPExporter(
            collector: other ?? collector.server.url("/"), service: "otlp-example", interval: .milliseconds(10))
        try await work(observedBy: exporter)
        try await exporter.export()
        guard other == nil else { return }
        try await cancelService(exporter, collector)
        for message in collector.messages { print(message) }
        print("dropped \(try await overfill(collector))")
    }

    /// Runs an exporter as a service that is cancelled while the collector has not responded to an export.
    private static func cancelService(_ exporter: OTLPExporter, _ collector: Collector) async throws {
        let hold = collector.holdNext(status: 200)
        exporter.tracer.startSpan("first", ofKind: .internal).end()
        let service = Task { try await exporter.run() }
        try await hold.arrived.opened()
        exporter.tracer.startSpan("second", ofKind: .internal).end()
        service.cancel()
        hold.released.open()
        try await service.value
    }

    /// Fills an exporter with spans before and during an export that fails, and returns the number of those that were dropped.
    private static func overfill(_ collector: Collector) async throws -> Int {
        let exporter = OTLPExporter(collector: collector.server.url("/"), service: "otlp-example")
        let hold = collector.holdNext(status: 400)
        for _ in 0..<2_000 { exporter.tracer.startSpan("first", ofKind: .internal).end() }
        let export = Task { try await exporter.export() }
        try await hold.arrived.opened()
        for _ in 0..<100 { exporter.tracer.startSpan("second", ofKind: .internal).end() }
        hold.released.open()
        _ = await export.result
        return exporter.droppedCount
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

/// A collector that refuses the first message with 503, and accepts all others, some of them late.
private final class Collector: Sendable {
    /// A message whose response waits.
    struct Hold: Sendable {
        let status: Int
        let arrived = LoopbackServer.Gate(), released = LoopbackServer.Gate()
    }

    private struct State {
        var messages: [String] = []
        var requests = 0
        /// The hold of the next message; `nil` if its response does not wait.
        var hold: Hold?
    }

    private final class Store: Sendable {
        let state = Mutex(State())
    }

    private let store: Store
    let server: LoopbackServer

    init() throws {
        let store = Store()
        self.store = store
        server = try LoopbackServer.http { request in
            let (isFirst, hold) = store.state.withLock { state -> (Bool, Hold?) in
                state.requests += 1
                if state.requests == 1 { return (true, nil) }
                state.messages.append("\(request.path)\t\(String(decoding: request.body, as: UTF8.self))")
                defer { state.hold = nil }
                return (false, state.hold)
            }
            if isFirst { return .init(503, headers: [(name: "Retry-After", value: "0")]) }
            guard let hold else { return .json("{}") }
            hold.arrived.open()
            return .init(
                body: .raw { connection in
                    try connection.wait(for: hold.released)
                    try connection.write(
                        "HTTP/1.1 \(hold.status) Held\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                })
        }
    }

    /// Lets the response to the next message wait, and returns the gates of its arrival and its response.
    func holdNext(status: Int) -> Hold {
        let hold = Hold(status: status)
        store.state.withLock { $0.hold = hold }
        return hold
    }

    var messages: [String] { store.state.withLock { $0.messages } }
}
