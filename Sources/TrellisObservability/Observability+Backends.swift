#if Observability
import Logging
import Tracing

/// The backends of the current task.
extension Observability {
    /// Returns the logger, if it writes lines of a level; `nil` if it does not, or there is no level.
    func logger(at level: Logger.Level?) -> Logger? {
        guard let level else { return nil }
        let logger = self.logger ?? Self.currentLogger
        return logger.logLevel <= level ? logger : nil
    }

    /// The logger of the task; outside of any scope, where `Logger.current` has no label, one with a label.
    private static var currentLogger: Logger {
        let logger = Logger.current
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

    /// Starts a span; `nil` if there is no tracer.
    ///
    /// - Parameter instrument: The ``instrument`` of the task.
    func startSpan(_ name: String, _ kind: SpanKind, with instrument: any Instrument) -> (any Span)? {
        // The system casts the instrument several times, which only one that contains others needs.
        let tracer: any Tracer = self.tracer ?? (instrument as? any Tracer) ?? InstrumentationSystem.tracer
        guard ObjectIdentifier(type(of: tracer)) != ObjectIdentifier(NoOpTracer.self) else { return nil }
        return tracer.startSpan(name, ofKind: kind)
    }
}

extension Span {
    /// Sets the attributes and the status of an operation that has ended, and ends the span.
    func end(status code: Int?, errorType: String?, errorMessage: String?, _ change: (inout SpanAttributes) -> Void) {
        if isRecording {
            updateAttributes { attributes in
                if let code { attributes.set(AttributeName.statusCode, value: .int64(Int64(code))) }
                if let errorType { attributes.set(AttributeName.errorType, value: .string(errorType)) }
                change(&attributes)
            }
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
