import CurlEngine
import HTTPTypes

/// The response of an exchange and its metrics, as far as they are known.
extension ExchangeActor {
    func response(metrics: consuming Metrics) -> Response {
        Response(
            head: head ?? ResponseHead(status: .init(code: 0)), url: prepared.url, informational: informational,
            trailers: trailers, metrics: metrics,
            redirects: prepared.history?.redirects ?? [], isBodyCut: isBodyCut)
    }

    /// Indicates whether the call makes a further attempt, or follows a redirect.
    var isContinuedByCall: Bool {
        prepared.history?.isContinued(after: failure, head: head, of: prepared) ?? false
    }

    var finalMetrics: Metrics { metrics(report) }

    func metrics(_ report: consuming TransportReport?) -> Metrics {
        let hasAttempt = deadlines.attemptStart != deadlines.start || task != nil || self.report != nil
        var metrics = Metrics(
            report, start: deadlines.start, attemptStart: hasAttempt ? deadlines.attemptStart : nil,
            now: executor.now, version: head?.version, history: prepared.history, callID: prepared.callID,
            proxyURL: prepared.proxyURL, serverTrust: serverTrust,
            reporting: ServerTimingFields(head: head, trailers: trailers.isEmpty ? nil : trailers))
        // Changed in place: a conditional copy would copy all of the metrics for every exchange.
        if hasHistory { addBodySizes(to: &metrics) }
        return metrics
    }

    private func addBodySizes(to metrics: inout Metrics) {
        // The transport counts the head and a body in memory together; one that counts nothing has sent all before a response.
        let limit = metrics.bytesSent > 0 ? metrics.bytesSent : head != nil ? .max : 0
        metrics.requestBodySize = prepared.streamedBody != nil ? passedBodySize : min(passedBodySize, limit)
        metrics.responseBodySize = measuredBytes
    }
}

/// The limit on the body of a response in memory if all of its readers refuse its head.
extension ExchangeActor {
    /// The number of bytes of a refused body that an error can show or decode.
    static var refusedBodyLimit: Int { 64 << 10 }

    /// Ends the transfer if the body exceeds the limit and all readers refuse the head.
    ///
    /// The readers are asked once, when the body exceeds the limit: before that, their decision makes no difference.
    func cutsBody(with bytes: RawSpan) -> Bool {
        let limit = min(Self.refusedBodyLimit, prepared.maximumBodySize.bytes)
        guard bodyCount > limit, !isHeadJudged, case .memory = sink, let readers, let head else { return false }
        isHeadJudged = true
        guard readers.refuses(head, of: prepared.request) else { return false }
        let room = limit - (bodyCount - bytes.byteCount)
        if room > 0 { _ = body.append(bytes.extracting(first: room)) }
        bodyCount = limit
        isBodyCut = true
        handle(.discardRest)
        return true
    }
}
