import HTTPTypes

/// What few requests have. Kept apart, so that the others stay small and quick to copy.
struct RequestExtras: Sendable {
    /// How long the body waits for the server's word.
    var continueWait: Duration?
    /// How fast the bodies may be.
    var bandwidth = BandwidthLimits()

    /// The extras of a request, which are not changed any more.
    final class Box: Sendable {
        let extras: RequestExtras

        init(_ extras: RequestExtras) { self.extras = extras }
    }
}

extension Request {
    /// Whether the server is asked before the body is sent (`Expect: 100-continue`; RFC 9110, section 10.1.1), and for how long
    /// at most its word is waited for; `nil`, as unless set: the body follows its head at once.
    ///
    /// The body is not begun before the server has said 100, or the time is over, which begins when the connection is ready. An
    /// answer in place of 100 is the answer: the body is never read, and the connection is not used again. A server that answers
    /// 417 is asked once more, without the expectation.
    ///
    /// Worth its round trip where a body is large and a refusal likely. A request without a body has no use for it.
    public var continueWait: Duration? {
        get { extras?.extras.continueWait }
        set { changeExtras { $0.continueWait = newValue } }
    }

    /// How fast the bodies of this request and its answer may be, besides the limits of the session; unlimited unless set.
    public var bandwidth: BandwidthLimits {
        get { extras?.extras.bandwidth ?? BandwidthLimits() }
        set { changeExtras { $0.bandwidth = newValue } }
    }

    /// How long the body waits for the server's word: as long as ``continueWait`` says, or a second where the expectation was
    /// written as a field. Without a body there is nothing to wait with (RFC 9110, section 10.1.1).
    var bodyWait: Duration? {
        guard let body else { return nil }
        if case .data(let data) = body.source, data.isEmpty { return nil }
        return continueWait ?? (headerFields[.expect]?.lowercased() == "100-continue" ? .seconds(1) : nil)
    }

    private mutating func changeExtras(_ change: (inout RequestExtras) -> Void) {
        var changed = extras?.extras ?? RequestExtras()
        change(&changed)
        extras = RequestExtras.Box(changed)
    }

    /// A copy that asks the server before its body is sent: see ``continueWait``.
    ///
    /// - Parameter wait: How long the server's word is waited for at most; one second unless given.
    public func withContinueExpectation(waiting wait: Duration? = .seconds(1)) -> Request {
        setting(\.continueWait, to: wait)
    }

    /// A copy with limits on the speed of its bodies: see ``bandwidth``.
    public func withBandwidth(upload: BandwidthLimit? = nil, download: BandwidthLimit? = nil) -> Request {
        setting(\.bandwidth, to: BandwidthLimits(upload: upload, download: download))
    }
}
