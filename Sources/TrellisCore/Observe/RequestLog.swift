import CurlEngine

/// A log of the calls of a session, for people: one line of text for each call, at its end.
///
/// ```swift
/// configuration.eventMonitors = [RequestLog()]
/// // GET https://example.com/a 200 12 ms (call 7)
/// // POST https://example.com/b failed 30.0 s, 3 attempts (call 8): timed out (total) after 30.0 s waiting for the response
/// ```
///
/// The URL is the call's, wherever redirects lead. The time runs from the call to its end; for a stream, to its head. The first of several
/// failures of the cache or a ``CookieFile`` has a line too.
///
/// Secrets in URLs are `REDACTED` (``RequestEvent/url``). Fields are written at the level ``Level/headers``, bodies at
/// ``Level/bodies(limit:)``. An error is written as it describes itself, which may quote a part of a body. Control characters are escaped,
/// so that one event is one line.
///
/// The lines are written on threads that may wait: a slow reader delays neither the session nor other tasks. A log that falls too far
/// behind writes how many events it has lost. ``Session/shutdown(drainingFor:)`` waits for the last lines; a process that ends at once may
/// lose them.
public struct RequestLog: EventMonitor {
    /// The events that are written.
    public enum Level: Sendable, Hashable {
        /// The ends of calls, the first of several failures of the cache or of a ``CookieFile``, and the number of lost events.
        case calls
        /// All events.
        case verbose
        /// All events, with the fields of each request that is sent, the session's default fields included, and of each head that is
        /// received. Secrets are `REDACTED`: the values of fields whose names mark them as secrets, such as `Authorization` and `Cookie`;
        /// of fields that no compression table may hold (`indexingStrategy`); and secrets in the URLs of fields such as `Location` and
        /// `Link`. The fields that are only added on the wire are not written: `Host`, `Accept-Encoding`, the default `Accept` (`*/*`), and
        /// those that frame a body.
        case headers
        /// All events, with fields, and with the bodies that are sent from memory or received, up to a number of bytes of each.
        ///
        /// ```swift
        /// configuration.eventMonitors = [RequestLog(.bodies(limit: 4096))]
        /// // POST https://example.com/b queued 0 ms (call 8) [Content-Type: application/json, …]: {"name":"Ada","password":"REDACTED"}
        /// // POST https://example.com/b body of 9 bytes 12 ms (call 8): {"id":7}
        /// ```
        ///
        /// The secrets of bodies are `REDACTED` by the rules of a ``HARRecorder``: secret items of forms, secret parts of multipart
        /// bodies, and texts and numbers under secret names in JSON. Other text is written as it is, also a token in it. Bytes that are not
        /// text, files, streams and multipart forms that are sent are described.
        ///
        /// For the logs of a session (``SessionConfiguration/eventMonitors``): a log of one request writes the bodies that are sent. Each
        /// call of such a session is as slow as one with a step.
        case bodies(limit: Int)
    }

    private let level: Level
    private let write: @Sendable (String) async -> Void

    /// Creates a log on the standard error stream of the process.
    ///
    /// - Parameter level: The events that are written; the ends of calls by default.
    public init(_ level: Level = .calls) {
        self.init(level) { line in
            await Task(executorPreference: BlockingExecutor.disk) { StandardError.write(line + "\n") }.value
        }
    }

    /// Creates a log that a closure writes: `RequestLog(.verbose) { line in logger.debug("\(line)") }`.
    ///
    /// - Parameters:
    ///   - level: The events that are written; the ends of calls by default.
    ///   - write: The closure that gets each line, without a line break at its end.
    public init(_ level: Level = .calls, writingWith write: @escaping @Sendable (_ line: String) async -> Void) {
        self.level = level
        self.write = write
    }

    /// Returns the log with another level, and with the same destination of its lines.
    package func withLevel(_ level: Level) -> RequestLog { RequestLog(level, writingWith: write) }

    /// The number of bytes of each body that are written; 0 at the other levels.
    var bodyLimit: Int { if case .bodies(let limit) = level { max(limit, 0) } else { 0 } }

    /// The detail of the events that are written.
    public var eventDetail: EventDetail { level == .calls ? .calls : .connections }

    /// Writes the line of an event, if the level has one.
    public func handle(_ event: RequestEvent) async {
        guard level != .calls || event.isEndOfCall || event.isOfStorageFailure || event.isOfLoss else { return }
        if case .bodyReceived = event.kind, bodyLimit == 0 { return }
        await write(event.logLine(withHeaders: level == .headers || bodyLimit > 0, bodyLimit: bodyLimit))
    }
}
