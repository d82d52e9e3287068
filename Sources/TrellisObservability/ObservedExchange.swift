#if Observability
import CoreMetrics
import CurlEngine
import Logging
import Tracing
import TrellisCore

/// The observation of one request on the wire, from the beginning of its wait for a connection to its response.
final class ObservedExchange: ExchangeObservation {
    private let request: ObservedRequest
    private let span: (any Span)?
    private let logger: Logger?
    private let source: InstrumentSource?
    /// The instruments of the request that do not depend on its outcome.
    private let beginning: SeriesInstruments?
    /// The instruments of the outcome, which get the sizes of the bodies when a streamed response has ended.
    private let streamed = LazyReference<SeriesInstruments>()
    private let instrumentation: ExchangeInstrumentation
    private let context: CallContext
    /// The time of the beginning since the call was made, on the session's clock, in nanoseconds.
    private let start: Int64

    init(
        _ request: ObservedRequest, span: (any Span)?, logger: Logger?, source: InstrumentSource?,
        _ instrumentation: ExchangeInstrumentation, context: CallContext, start: Int64? = nil
    ) {
        (self.request, self.span, self.logger, self.source) = (request, span, logger, source)
        (self.instrumentation, self.context) = (instrumentation, context)
        self.start = start ?? context.elapsedNanoseconds
        beginning = source?.beginning(of: request.profile)
        beginning?.active?.increment()
    }

    func end(with response: Response, isStreamed: Bool) {
        end(ExchangeOutcome(response), isStreamed: isStreamed)
    }

    func end(with error: any Error) { end(ExchangeOutcome(error), isStreamed: false) }

    func endBody(with metrics: Metrics) {
        if let instruments = streamed.load() { recordSizes(metrics, in: instruments) }
    }

    private func end(_ outcome: ExchangeOutcome, isStreamed: Bool) {
        let duration = context.elapsedNanoseconds - start
        let kind = Series.Kind.end(status: outcome.status, version: outcome.version, errorType: outcome.errorType)
        if let source { record(outcome, kind, duration: duration, in: source, isStreamed: isStreamed) }
        guard let span else { return log(outcome, duration) }
        // The log's metadata provider finds the span in the context.
        if logger != nil { ServiceContext.withValue(span.context) { log(outcome, duration) } }
        span.end(
            request.profile.endAttributes(kind, outcome), errorType: outcome.errorType,
            errorMessage: outcome.errorMessage)
    }

    private func record(
        _ outcome: ExchangeOutcome, _ kind: Series.Kind, duration: Int64, in source: InstrumentSource,
        isStreamed: Bool
    ) {
        guard let beginning else { return }
        beginning.active?.decrement()
        if let queued = outcome.queued { beginning.queue?.recordNanoseconds(queued) }
        guard !instrumentation.settings.metrics.isDisjoint(with: .ofOutcomes) else { return }
        let instruments = source.instruments(of: kind, of: request, after: beginning)
        instruments.duration?.recordNanoseconds(duration)
        if isStreamed { _ = streamed.storeIfNil(instruments) } else { recordSizes(outcome.metrics, in: instruments) }
    }

    /// Records the bytes of the bodies that were sent and received. A request that was not sent has no sizes.
    private func recordSizes(_ metrics: Metrics, in instruments: SeriesInstruments) {
        let hasResponse = metrics.version != nil
        if let recorder = instruments.requestBodySize, request.request.body != nil,
            hasResponse || metrics.requestBodySize > 0
        {
            recorder.record(metrics.requestBodySize)
        }
        if let recorder = instruments.responseBodySize, hasResponse { recorder.record(metrics.responseBodySize) }
    }

    private func log(_ outcome: ExchangeOutcome, _ duration: Int64) {
        let levels = instrumentation.settings.logLevels
        guard let logger, let level = outcome.errorMessage == nil ? levels.exchange : levels.failure else { return }
        let message: Logger.Message =
            if outcome.isCancelled {
                "HTTP request was cancelled"
            } else if outcome.errorMessage != nil {
                "HTTP request has failed"
            } else {
                "HTTP response was received"
            }
        logger.log(level: level, message, metadata: metadata(outcome, duration))
    }

    private func metadata(_ outcome: ExchangeOutcome, _ duration: Int64) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            AttributeName.method: .string(request.method), AttributeName.url: .string(request.redactedURL),
            AttributeName.callID: .stringConvertible(request.callID),
            AttributeName.duration: .stringConvertible(Double(duration) / 1e9),
        ]
        if let status = outcome.status { metadata[AttributeName.statusCode] = .stringConvertible(status) }
        if let version = outcome.version { metadata[AttributeName.protocolVersion] = .string(version.rawValue) }
        if let errorType = outcome.errorType { metadata[AttributeName.errorType] = .string(errorType) }
        if let message = outcome.errorMessage { metadata[AttributeName.errorMessage] = .string(message) }
        if let template = request.template { metadata[AttributeName.urlTemplate] = .string(template) }
        if request.resendCount > 0 {
            metadata[AttributeName.resendCount] = .stringConvertible(request.resendCount)
        }
        return metadata
    }
}

/// The observation of a request if only its failure is logged, as in a program without any backend, whose log writes warnings.
final class FailureLog: ExchangeObservation {
    private let request: Request
    private let resendCount: Int
    private let logger: Logger
    private let instrumentation: ExchangeInstrumentation
    private let context: CallContext
    private let start: Int64

    init(
        _ request: Request, resendCount: Int, logger: Logger, _ instrumentation: ExchangeInstrumentation,
        context: CallContext
    ) {
        (self.request, self.resendCount, self.logger) = (request, resendCount, logger)
        (self.instrumentation, self.context, start) = (instrumentation, context, context.elapsedNanoseconds)
    }

    func end(with response: Response, isStreamed: Bool) {}
    func endBody(with metrics: Metrics) {}

    func end(with error: any Error) {
        let observed = ObservedRequest(
            request, context, resendCount: resendCount, profiles: instrumentation.profiles)
        let exchange = ObservedExchange(
            observed, span: nil, logger: logger, source: nil, instrumentation, context: context, start: start)
        exchange.end(with: error)
    }
}

extension Observability.MetricSet {
    /// The metrics whose dimensions depend on the outcome of a request.
    fileprivate static let ofOutcomes: Self = [.requestDuration, .requestBodySize, .responseBodySize]
}
#endif
