import CoreMetrics
import Logging
import Tracing

/// The backends of logs, metrics and traces that do nothing. They are not those of the three packages, which `TrellisObservability`
/// recognizes and does not use: spans, metrics and the line about each request are made.
enum DroppingBackends {
    /// Installs the backends in the process, as a server does at its start.
    static func bootstrap() {
        LoggingSystem.bootstrap { _ in DroppingLogHandler() }
        MetricsSystem.bootstrap(DroppingMetrics())
        InstrumentationSystem.bootstrap(DroppingTracer())
    }
}

/// A handler of the log at the level `debug`, that of the line about a request. It drops its lines.
private struct DroppingLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel = Logger.Level.debug

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {}
}

/// A factory of instruments that drop their values.
private final class DroppingMetrics: MetricsFactory {
    private let instrument = DroppingInstrument()

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { instrument }
    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { instrument }
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        instrument
    }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { instrument }
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}

private final class DroppingInstrument: CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    func increment(by amount: Int64) {}
    func increment(by amount: Double) {}
    func decrement(by amount: Double) {}
    func reset() {}
    func set(_ value: Int64) {}
    func set(_ value: Double) {}
    func record(_ value: Int64) {}
    func record(_ value: Double) {}
    func recordNanoseconds(_ duration: Int64) {}
}

/// A tracer whose spans are recorded, and dropped. It adds no fields to requests.
private final class DroppingTracer: Tracer {
    func startSpan<Instant: TracerInstant>(
        _ name: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> DroppingSpan {
        DroppingSpan(context: context())
    }

    func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {}

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {}

    func forceFlush() {}
}

/// A span that drops the attributes that it is given. They are made, because the span says that it records them.
private struct DroppingSpan: Span {
    let context: InstrumentationContext
    var isRecording: Bool { true }
    var operationName: String {
        get { "" }
        nonmutating set {}
    }
    var attributes: SpanAttributes {
        get { [:] }
        nonmutating set {}
    }

    func setStatus(_ status: SpanStatus) {}
    func addEvent(_ event: SpanEvent) {}
    func addLink(_ link: SpanLink) {}
    func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {}
    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {}
}
