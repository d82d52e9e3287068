import HTTPTypes

/// The properties that few requests have, stored apart so that the other requests stay small and quick to copy.
struct RequestExtras: Sendable {
    /// The value of ``Request/expectContinueTimeout``.
    var expectContinueTimeout: Duration?
    /// The value of ``Request/bandwidth``.
    var bandwidth = BandwidthLimits()

    /// The immutable reference to the extras of a request.
    final class Box: Sendable {
        let extras: RequestExtras

        init(_ extras: RequestExtras) { self.extras = extras }
    }
}

extension Request {
    /// The longest time that the body waits for the server's permission (`Expect: 100-continue`; RFC 9110, section 10.1.1);
    /// if `nil`, the default, the body follows the head at once.
    ///
    /// The body is sent after the server has responded 100, or after the time is over; the time begins when the connection is
    /// ready. Another response in place of 100 is the response of the request: the body is never read, and the connection is not
    /// used again. If the server responds 417, the request is sent again, without the expectation.
    ///
    /// The expectation is worth its round trip if a body is large and a refusal is likely. A request without a body needs
    /// no expectation.
    public var expectContinueTimeout: Duration? {
        get { extras?.extras.expectContinueTimeout }
        set { changeExtras { $0.expectContinueTimeout = newValue } }
    }

    /// The limits on the speed of the request's body and the response's body, besides the limits of the session; unlimited by
    /// default.
    public var bandwidth: BandwidthLimits {
        get { extras?.extras.bandwidth ?? BandwidthLimits() }
        set { changeExtras { $0.bandwidth = newValue } }
    }

    /// The time that the body waits for the server's permission: ``expectContinueTimeout``, or one second if the expectation was written
    /// as a field. `nil` if the body does not wait, or the request has no body (RFC 9110, section 10.1.1).
    var bodyWait: Duration? {
        guard let body else { return nil }
        if case .data(let data) = body.source, data.isEmpty { return nil }
        return expectContinueTimeout ?? (headers[.expect]?.lowercased() == "100-continue" ? .seconds(1) : nil)
    }

    private mutating func changeExtras(_ change: (inout RequestExtras) -> Void) {
        var changed = extras?.extras ?? RequestExtras()
        change(&changed)
        extras = RequestExtras.Box(changed)
    }

    /// Returns a copy that waits for the server's permission before its body is sent: see ``expectContinueTimeout``.
    ///
    /// - Parameter wait: The longest time that the body waits; one second by default.
    public func withContinueExpectation(waiting wait: Duration? = .seconds(1)) -> Request {
        setting(\.expectContinueTimeout, to: wait)
    }

    /// Returns a copy with limits on the speed of its bodies: see ``bandwidth``.
    public func withBandwidth(upload: BandwidthLimit? = nil, download: BandwidthLimit? = nil) -> Request {
        setting(\.bandwidth, to: BandwidthLimits(upload: upload, download: download))
    }
}

/// An object that another part of the framework keeps with a request, opaque to the request itself.
package protocol RequestAttachment: AnyObject, Sendable {}
