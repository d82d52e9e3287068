import CurlEngine
import HTTPTypes

/// The response of an exchange and its metrics, as far as they are known.
extension ExchangeActor {
    func response(metrics: consuming Metrics) -> Response {
        Response(
            head: head ?? ResponseHead(status: .init(code: 0)), url: prepared.url, informational: informational,
            trailers: trailers, metrics: metrics,
            redirects: prepared.history?.redirects ?? [], bodyCut: bodyCut, to: prepared.answered)
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

/// The limits on the body of a response.
extension ExchangeActor {
    /// The number of bytes that are read of a body that nobody gets in full: enough for an error to show or decode, and for keeping the
    /// connection after a usual redirect.
    static var unwantedBodyLimit: Int { 64 << 10 }

    /// Returns whether the body exceeds its limit, and ends the exchange in that case.
    ///
    /// A body in memory is cut off if all readers refuse the head, or if the call continues after the response. If only later stages
    /// know whether the call continues, the body is cut off at the limit on all bodies, and the call fails if the response is final.
    /// The readers are asked once, when their decision makes a difference.
    func isStopped(by bytes: RawSpan) -> Bool {
        let maximum = prepared.maximumBodySize
        let limit = min(Self.unwantedBodyLimit, maximum.bytes)
        guard bodyCount > limit else { return false }
        if case .memory = sink, let head {
            if prepared.isFollowed(head) {
                guard bodyCount > Self.unwantedBodyLimit else { return false }
                return cutBody(with: bytes, at: Self.unwantedBodyLimit, .followed)
            }
            if !isHeadJudged {
                isHeadJudged = true
                if let readers, readers.refuses(head, of: prepared.request) {
                    return cutBody(with: bytes, at: limit, .refused)
                }
            }
            if maximum.isExceeded(by: bodyCount), prepared.history?.mayContinue(after: head) == true {
                return cutBody(with: bytes, at: maximum.bytes, .tooLarge(limit: maximum.bytes))
            }
        }
        guard maximum.isExceeded(by: bodyCount) else { return false }
        fail(TrellisError(.invalidResponse(.bodyTooLarge(limit: maximum.bytes))))
        return true
    }

    /// Ends the transfer with the beginning of the body. Returns `true`.
    private func cutBody(with bytes: RawSpan, at limit: Int, _ reason: BodyCut) -> Bool {
        let room = limit - (bodyCount - bytes.byteCount)
        if room > 0 { _ = body.append(bytes.extracting(first: room)) }
        bodyCount = limit
        bodyCut = reason
        handle(.discardRest)
        return true
    }

    /// Whether nobody gets the body that is being received, because the call follows the redirect that it belongs to.
    var isBodyFollowed: Bool {
        guard case .memory = sink, state.progress == .receiving, let head else { return false }
        return prepared.isFollowed(head)
    }

    /// Ends the exchange with its response, although the rest of the body was not received or cannot be decoded.
    func completeWithoutBody() {
        bodyCut = .followed
        handle(.complete)
    }
}
