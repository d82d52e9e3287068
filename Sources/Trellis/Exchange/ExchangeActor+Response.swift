import CurlEngine
import HTTPTypes

/// The response of an exchange and its metrics, as far as they are known.
extension ExchangeActor {
    func response(metrics: Metrics) -> Response {
        Response(
            head: head ?? ResponseHead(status: .init(code: 0)), url: prepared.url, informational: informational,
            trailers: trailers, metrics: metrics,
            redirects: prepared.history?.redirects ?? [], isBodyCut: isBodyCut)
    }

    var finalMetrics: Metrics { metrics(report ?? TransportReport()) }

    func metrics(_ report: TransportReport) -> Metrics {
        let hasAttempt = deadlines.attemptStart != deadlines.start || task != nil || self.report != nil
        return Metrics(
            report, start: deadlines.start, attemptStart: hasAttempt ? deadlines.attemptStart : nil,
            now: executor.now, version: head?.version, history: prepared.history, callID: prepared.callID)
    }
}
