#if Observability
import Tracing
import TrellisCore

/// The step that puts a span around a call, as the parent of the spans of its requests. The span ends with the call: for a stream, with the
/// head of its response.
struct CallSpan: ResponseForwardingStep {
    static let name = "trellis.call"

    private let instrumentation: ExchangeInstrumentation

    init(_ instrumentation: ExchangeInstrumentation) { self.instrumentation = instrumentation }

    func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
        let settings = instrumentation.settings
        // The observation of a request replaces its session's, whose steps run nevertheless.
        guard context.exchangeObserver === instrumentation, let instrument = settings.instrument,
            let span = instrumentation.startSpan(Self.name, .internal, with: instrument)
        else { return try await next(request) }
        if span.isRecording {
            let observed = ObservedRequest(request, context, resendCount: 0, profiles: instrumentation.profiles)
            var attributes = SpanAttributes([:])
            attributes.set(AttributeName.method, value: .string(observed.method))
            attributes.set(AttributeName.url, value: .string(observed.redactedURL))
            attributes.set(AttributeName.callID, value: .int64(Int64(clamping: context.callID)))
            span.add(attributes)
        }
        do {
            let answer = try await ServiceContext.withValue(span.context) { try await next(request) }
            end(span, ExchangeOutcome(answer.response))
            return answer
        } catch {
            end(span, ExchangeOutcome(error))
            throw error
        }
    }

    private func end(_ span: any Span, _ outcome: ExchangeOutcome) {
        var attributes = SpanAttributes([:])
        if let status = outcome.status { attributes.set(AttributeName.statusCode, value: .int64(Int64(status))) }
        if let errorType = outcome.errorType { attributes.set(AttributeName.errorType, value: .string(errorType)) }
        let retries = outcome.metrics.attemptCount - 1
        if retries > 0 { attributes.set(AttributeName.retryCount, value: .int64(Int64(retries))) }
        span.end(attributes, errorType: outcome.errorType, errorMessage: outcome.errorMessage)
    }
}
#endif
