#if Observability
import CoreMetrics
import CurlEngine
import Logging
import Tracing

/// The backends of the current task.
extension Observability {
    /// Returns the logger, if it writes lines of a level; `nil` if it does not, or there is no level.
    func logger(at level: Logger.Level?) -> Logger? {
        guard let level else { return nil }
        if let logger { return logger.logLevel <= level ? logger : nil }
        let current = Logger.current
        // The logger with a label has the same level.
        return current.logLevel <= level ? Self.labeled(current) : nil
    }

    /// Returns the logger of the task; outside of any scope, where `Logger.current` has no label, one with a label.
    private static func labeled(_ logger: Logger) -> Logger {
        // A scope may have bound a handler or metadata without a label.
        guard logger.label.isEmpty, logger.handler.metadata.isEmpty, logger.logLevel == ownLogger.logLevel,
            type(of: logger.handler) == type(of: ownLogger.handler)
        else { return logger }
        return ownLogger
    }

    /// The logger that the process was bootstrapped with when the first line was written outside of any scope.
    private static let ownLogger = Logger(label: "trellis.http")

    /// The instrument that adds fields to requests, a tracer in most programs; `nil` if it does nothing.
    var instrument: (any Instrument)? {
        let instrument: any Instrument = if let tracer { tracer } else { InstrumentationSystem.instrument }
        let kind = ObjectIdentifier(type(of: instrument))
        let isNoOp = kind == ObjectIdentifier(NoOpInstrument.self) || kind == ObjectIdentifier(NoOpTracer.self)
        return isNoOp ? nil : instrument
    }

    /// The metrics factory of the settings; `nil` if there is none, or one that does nothing.
    var recordingFactory: (any MetricsFactory)? { metricsFactory.flatMap { Self.isNoOp($0) ? nil : $0 } }

    static func isNoOp(_ factory: any MetricsFactory) -> Bool {
        ObjectIdentifier(type(of: factory)) == ObjectIdentifier(NOOPMetricsHandler.self)
    }

    private static func isNoOp(_ handler: any LogHandler) -> Bool {
        ObjectIdentifier(type(of: handler)) == ObjectIdentifier(SwiftLogNoOpLogHandler.self)
    }

    /// Whether nothing is observed: each part is off, or the settings have a backend for it that does nothing.
    var isEmpty: Bool {
        let hasTraces = (createsSpans || createsCallSpans || addsFields) && (tracer == nil || instrument != nil)
        let hasMetrics = !metrics.isEmpty && (metricsFactory == nil || recordingFactory != nil)
        let hasLog = logLevels != .off && !(logger.map { Self.isNoOp($0.handler) } ?? false)
        return !hasTraces && !hasMetrics && !hasLog
    }
}

/// The tracer of the latest request, so that an instrument that is the same object is not cast for each request: a cast to a protocol
/// takes some 1,500 instructions.
final class LatestTracer: Sendable {
    private struct Entry: Sendable {
        let id: ObjectIdentifier
        /// The tracer, retained so that its identity stays its own.
        let tracer: any Tracer
    }

    private let latest = Locked<Entry?>(nil)

    // An engine thread may have the last reference.
    deinit { UserObjects.release([latest]) }

    /// Returns the tracer of an instrument; `nil` if there is none.
    func tracer(of instrument: any Instrument) -> (any Tracer)? {
        let tracer = found(instrument)
        return ObjectIdentifier(type(of: tracer)) == ObjectIdentifier(NoOpTracer.self) ? nil : tracer
    }

    private func found<Found: Instrument>(_ instrument: Found) -> any Tracer {
        let id = ObjectIdentifier(ofObject: instrument)
        if let id, let known = latest.withLock({ $0?.id == id ? $0?.tracer : nil }) { return known }
        // The system casts the instrument several times, which only one that contains others needs.
        guard let tracer = instrument as? any Tracer else { return InstrumentationSystem.tracer }
        if let id {
            let earlier = latest.withLock { latest in
                defer { latest = Entry(id: id, tracer: tracer) }
                return latest
            }
            // The earlier tracer, which is not the framework's code, is released outside of the lock.
            withExtendedLifetime(earlier) {}
        }
        return tracer
    }
}

extension Span {
    /// Adds attributes, which replace others with the same names. The attributes of a span without attributes are not hashed again.
    func add(_ attributes: SpanAttributes) {
        updateAttributes { own in
            if own.isEmpty { own = attributes } else { own.merge(attributes) }
        }
    }

    /// Adds the attributes and the status of an operation that has ended, and ends the span.
    ///
    /// - Parameter attributes: The attributes; not made for a span that is not recorded.
    func end(_ attributes: @autoclosure () -> SpanAttributes, errorType: String?, errorMessage: String?) {
        if isRecording {
            add(attributes())
            // The description is left out where the status code tells the reason.
            if errorType != nil { setStatus(SpanStatus(code: .error, message: errorMessage)) }
        }
        end()
    }
}

extension Duration {
    /// The duration in seconds.
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
#endif
