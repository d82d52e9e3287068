import HTTPTypes

/// The judgement whether a request may be sent again, so that no `POST` is sent twice. It is asked of the request as it is sent: by
/// hedging, by the next proxy, and after an answer that could not be followed. An exchange asks it after a dead connection
/// (`PreparedRequest.swift`), and passes the answer to the engine, which may send the request again itself. A ``RetryPolicy`` has a list of
/// methods (`RetryPolicy.swift`). A new call may have another `Idempotency-Key`, so that only its method counts
/// (``TrellisError/mayBeMadeAgain(_:)``).
extension Request {
    /// Whether sending the request twice has the same effect as sending it once: by its method
    /// (RFC 9110, section 9.2.2), by its `Idempotency-Key`, or because its meaning is known.
    var mayBeRepeated: Bool { method.isIdempotent || isRepeatable || hasIdempotencyKey }

    /// Whether the request has an `Idempotency-Key`, by which the server recognizes its repetitions.
    var hasIdempotencyKey: Bool { !(headers[.idempotencyKey] ?? "").isEmpty }

    /// Whether the request is sent again on another connection if its kept connection turns out to be dead.
    var mayBeReplayed: Bool { mayBeRepeated && !isSentOnce }

    /// Whether the request has no body, or one that can be sent again.
    var hasReplayableBody: Bool { body?.isReplayable ?? true }
}

extension HTTPField.Name {
    /// The field `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a server that knows the field executes several
    /// requests with one key once. The key is written without quotation marks, as the services that have the field document it.
    static let idempotencyKey = Self("Idempotency-Key") ?? .from  // A valid token: the fallback is never used.
}
