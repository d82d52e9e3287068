#if Observability
import CoreMetrics
import HTTPTypes
import Logging
import Tracing
import Trellis

/// The observation of one request on the wire, from the beginning of its wait for a connection to its response.
final class ObservedExchange: ExchangeObservation {
    private let request: ObservedRequest
    private let span: (any Span)?
    private let logger: Logger?
    private let source: InstrumentSource?
    /// The instruments of the request that do not depend on its outcome.
    private let beginning: SeriesInstruments?
    private let settings: Observability
    private let context: CallContext
    /// The time of the beginning since the call was made, on the session's clock.
    private let start: Duration

    init(
        _ request: ObservedRequest, span: (any Span)?, logger: Logger?, _ source: InstrumentSource?,
        _ settings: Observability, _ context: CallContext
    ) {
        (self.request, self.span, self.logger, self.source) = (request, span, logger, source)
        (self.settings, self.context, start) = (settings, context, context.elapsedTime)
        beginning = source?.instruments(of: request.series(.start))
        beginning?.active?.increment()
    }

    func end(with response: Response, bodySize: Int?) {
        end(ExchangeOutcome(response, bodySize: bodySize))
    }

    func end(with error: any Error) { end(ExchangeOutcome(error)) }

    private func end(_ outcome: ExchangeOutcome) {
        let duration = context.elapsedTime - start
        if let source { record(outcome, duration, in: source) }
        guard let span else { return log(outcome, duration) }
        // The log's metadata provider finds the span in the context.
        if logger != nil { ServiceContext.withValue(span.context) { log(outcome, duration) } }
        span.end(status: outcome.status, errorType: outcome.errorType, errorMessage: outcome.errorMessage) {
            attributes in
            if let version = outcome.version {
                attributes.set(AttributeName.protocolVersion, value: .string(version.rawValue))
            }
            let (host, port) = (outcome.metrics.peerHost, outcome.metrics.peerPort)
            if !host.isEmpty { attributes.set(AttributeName.peerAddress, value: .string(host)) }
            if !host.isEmpty, port > 0 { attributes.set(AttributeName.peerPort, value: .int64(Int64(port))) }
        }
    }

    private func record(_ outcome: ExchangeOutcome, _ duration: Duration, in source: InstrumentSource) {
        beginning?.active?.decrement()
        if let queued = outcome.queued { beginning?.queue?.recordNanoseconds(queued.wholeNanoseconds) }
        guard !settings.metrics.isDisjoint(with: .ofOutcomes) else { return }
        let series = request.series(
            .end(status: outcome.status, version: outcome.version, errorType: outcome.errorType))
        let instruments = source.instruments(of: series)
        instruments.duration?.recordNanoseconds(duration.wholeNanoseconds)
        if let recorder = instruments.requestBodySize, let size = request.bodySize { recorder.record(size) }
        if let recorder = instruments.responseBodySize, let size = outcome.bodySize(of: request.request.method) {
            recorder.record(size)
        }
    }

    private func log(_ outcome: ExchangeOutcome, _ duration: Duration) {
        guard let logger, let level = settings.logLevels.exchange else { return }
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

    private func metadata(_ outcome: ExchangeOutcome, _ duration: Duration) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            AttributeName.method: .string(request.method), AttributeName.url: .string(request.redactedURL),
            AttributeName.callID: .stringConvertible(request.callID),
            AttributeName.duration: .stringConvertible(duration.inSeconds),
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

extension Observability.MetricSet {
    /// The metrics whose dimensions depend on the outcome of a request.
    fileprivate static let ofOutcomes: Self = [.requestDuration, .requestBodySize, .responseBodySize]
}
#endif
