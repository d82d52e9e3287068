import CurlEngine
import FoundationEssentials

/// The deadline of a call as its server learns it: the field, and the instant.
struct SentDeadline: Sendable {
    let field: DeadlineField
    let end: EngineInstant

    /// Returns the value of the field at an instant.
    func value(at instant: EngineInstant) -> String {
        let left = end.nanoseconds > instant.nanoseconds ? end.nanoseconds - instant.nanoseconds : 0
        return field.value(left: left, now: Date())
    }
}

extension TimeLimits {
    /// Returns the field that tells the server how much time is left; `nil` if it gets none.
    ///
    /// - Parameters:
    ///   - hasLeft: Whether a redirect has led to another origin.
    ///   - switchesProtocols: Whether the total is for a handshake alone.
    func sentField(hasLeft: Bool, switchesProtocols: Bool) -> DeadlineField? {
        guard let deadlineField, total != nil, !switchesProtocols, !hasLeft || deadlineField.crossesOrigins else {
            return nil
        }
        return deadlineField
    }
}

extension PreparedRequest {
    /// The deadline that the server learns, if any.
    private var sentDeadline: SentDeadline? {
        let field = limits.sentField(
            hasLeft: history?.hasLeftOrigin ?? false, switchesProtocols: wire.switchesProtocols)
        guard let field, let total = limits.total else { return nil }
        return SentDeadline(field: field, end: start.advanced(byNanoseconds: total))
    }

    /// Returns the request of an attempt with the field of its deadline. The transport sees the value of this instant; the wire gets the
    /// value of the instant at which the head is written.
    @inline(never)
    func withDeadline(_ request: TransportRequest, on clock: any EngineClock) -> TransportRequest {
        guard let deadline = sentDeadline else { return request }
        var sent = request.request
        sent.headers[deadline.field.name] = deadline.value(at: clock.now())
        return TransportRequest(
            request: sent,
            wire: request.wire.adding {
                var lines = HeaderLines()
                _ = lines.append(name: deadline.field.name, value: deadline.value(at: clock.now()))
                return lines
            },
            callNumber: callNumber)
    }
}
