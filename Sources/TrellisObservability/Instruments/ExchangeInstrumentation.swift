#if Observability
import CoreMetrics
import CurlEngine
import HTTPTypes
import Logging
import Tracing
import TrellisCore

/// The observer of a session's requests: begins the span and the measurement of each, and writes about retries, circuits and the cache.
final class ExchangeInstrumentation: ExchangeObserver {
    let settings: Observability
    let profiles: RequestProfiles
    private let tracers = LatestTracer()
    /// The URLs whose hosts decide about the fields of a context.
    private let urls = WireURLCache()
    private let instruments: InstrumentCache
    private let connections: ConnectionInstrumentation?

    init(_ settings: Observability) {
        self.settings = settings
        profiles = RequestProfiles(settings)
        instruments = InstrumentCache(settings)
        let observesConnections = !settings.metrics.isDisjoint(with: [.openConnections, .connectionDuration])
        connections =
            observesConnections && instruments.mayHaveSources ? ConnectionInstrumentation(instruments) : nil
    }

    var connectionObserver: (any ConnectionObserver)? { connections }

    func begin(_ request: Request, context: CallContext) -> (Request, (any ExchangeObservation)?) {
        let source = instruments.source()
        connections?.followFactory()
        let logger = settings.logger(at: settings.logLevels.highest)
        let instrument = settings.createsSpans || settings.addsFields ? settings.instrument : nil
        guard source != nil || logger != nil || instrument != nil else { return (request, nil) }
        let resendCount = context.countExchange()
        if let logger, source == nil, instrument == nil, !settings.logLevels.writesResponses(to: logger) {
            return (request, FailureLog(request, resendCount: resendCount, logger: logger, self, context: context))
        }
        let observed = ObservedRequest(request, context, resendCount: resendCount, profiles: profiles)
        guard let instrument else {
            return (
                request, ObservedExchange(observed, span: nil, logger: logger, source: source, self, context: context)
            )
        }
        let span = settings.createsSpans ? startSpan(observed, context, with: instrument) : nil
        let observation = ObservedExchange(observed, span: span, logger: logger, source: source, self, context: context)
        return (injecting(span, into: request, with: instrument), observation)
    }

    private func startSpan(
        _ observed: ObservedRequest, _ context: CallContext, with instrument: any Instrument
    ) -> (any Span)? {
        guard let span = startSpan(observed.profile.spanName, .client, with: instrument) else { return nil }
        guard span.isRecording else { return span }
        var attributes = observed.profile.startAttributes
        attributes.set(AttributeName.url, value: .string(observed.redactedURL))
        func set(_ name: String, ifPositive count: Int) {
            if count > 0 { attributes.set(name, value: .int64(Int64(count))) }
        }
        set(AttributeName.resendCount, ifPositive: observed.resendCount)
        set(AttributeName.retryCount, ifPositive: observed.retryCount)
        set(AttributeName.redirectCount, ifPositive: observed.redirectCount)
        if settings.recordsUserAgent,
            let agent = observed.request.headers[.userAgent] ?? context.defaultUserAgent
        {
            attributes.set(AttributeName.userAgent, value: .string(agent))
        }
        span.add(attributes)
        return span
    }

    /// Starts a span; `nil` if there is no tracer.
    ///
    /// - Parameter instrument: The instrument of the task.
    func startSpan(_ name: String, _ kind: SpanKind, with instrument: any Instrument) -> (any Span)? {
        guard let tracer = tracers.tracer(of: instrument) else { return nil }
        return tracer.startSpan(name, ofKind: kind)
    }

    /// Returns a request with the context of the span, or else of the task, in its fields, as far as its host gets it.
    private func injecting(
        _ span: (any Span)?, into request: Request, with instrument: any Instrument
    ) -> Request {
        guard settings.addsFields, let context = span?.context ?? ServiceContext.current else { return request }
        // The host is the one that the connection is made to, however the URL spells it.
        let url =
            settings.dependsOnHost ? try? urls.url(parsing: request.url, unchanged: request.sendsURLUnchanged) : nil
        let kinds = settings.fields(for: url?.bareHost)
        guard !kinds.isEmpty else { return request }
        var fields: [HTTPField] = []
        instrument.inject(context, into: &fields, using: HeaderInjector(kinds: kinds))
        return request.withContext(fields)
    }

    func willRetry(_ attempt: FailedAttempt, after delay: Duration, context: CallContext) {
        let status = attempt.response.map { $0.status.code }.flatMap { $0 >= 400 ? String($0) : nil }
        let errorType = status ?? attempt.error.map { ExchangeOutcome.errorType(of: $0) } ?? otherValue
        let observed = ObservedRequest(attempt.request, context, resendCount: 0, profiles: profiles)
        count(observed.series(.retry(errorType: errorType)), ifOn: .retries)
        guard let level = settings.logLevels.retry, let logger = settings.logger(at: level) else { return }
        logger.log(
            level: level, "HTTP request is sent again",
            metadata: [
                AttributeName.method: .string(observed.method), AttributeName.url: .string(observed.redactedURL),
                AttributeName.errorType: .string(errorType), AttributeName.callID: .stringConvertible(context.callID),
                AttributeName.retryCount: .stringConvertible(context.attempt),
                AttributeName.retryDelay: .stringConvertible(delay.inSeconds),
            ])
    }

    func didChangeCircuit(of host: String, openFor duration: Duration?, context: CallContext) {
        guard let level = settings.logLevels.circuit, let logger = settings.logger(at: level) else { return }
        // A host whose port is not the default of its scheme has that port.
        let server = ServerAddress(of: host)
        var metadata: Logger.Metadata = [
            AttributeName.serverAddress: .string(server.address),
            AttributeName.callID: .stringConvertible(context.callID),
        ]
        if server.port > 0 { metadata[AttributeName.serverPort] = .stringConvertible(server.port) }
        guard let duration else { return logger.log(level: level, "Circuit has closed", metadata: metadata) }
        metadata[AttributeName.circuitDuration] = .stringConvertible(duration.inSeconds)
        logger.log(level: level, "Circuit has opened", metadata: metadata)
    }

    func didUseCache(_ status: CacheStatus, for request: Request, context: CallContext) {
        let observed = ObservedRequest(request, context, resendCount: 0, profiles: profiles)
        let result = status.result
        count(observed.series(.cache(result: result)), ifOn: .cacheResults)
        guard status.isHit || status.isCoalesced, let level = settings.logLevels.exchange,
            let logger = settings.logger(at: level)
        else { return }
        logger.log(
            level: level, "HTTP response comes from the cache",
            metadata: [
                AttributeName.method: .string(observed.method), AttributeName.url: .string(observed.redactedURL),
                AttributeName.callID: .stringConvertible(context.callID), AttributeName.cacheResult: .string(result),
            ])
    }

    private func count(_ series: @autoclosure () -> Series, ifOn metric: Observability.MetricSet) {
        guard settings.metrics.contains(metric), let source = instruments.source() else { return }
        source.instruments(of: series()).count?.increment()
    }
}

extension CacheStatus {
    /// The use of the cache in one word, as a dimension of a metric.
    fileprivate var result: String {
        if isUnsatisfiable { return "unsatisfiable" }
        if isHit { return "hit" }
        if isCoalesced { return "collapsed" }
        if isFromCache { return isValidated ? "revalidated" : "stale" }
        return switch forwardReason {
        case .bypass, .method, .request: "bypass"
        case .uriMiss, .varyMiss, .stale, .partial, nil: "miss"
        }
    }
}
#endif
