import Trellis

/// The reason why there is no response, or no complete one, as stated in the report.
struct RequestFailure: Error {
    /// The kind in the report.
    let kind: String
    /// The message, a sentence on one line.
    var message: String
    var isRetryable = false
    /// The exit status of the tool: curl's number for this kind of failure where there is one.
    var exitStatus: CInt
    var attempts = 0
    /// The redirects that were followed before the failure.
    var redirects: [Redirect] = []
    /// The response that failed, if there is one.
    var response: Response?
    /// The metrics up to the failure, if they are known.
    var metrics: Metrics?
    /// The URL without secrets, if it is known.
    var url: String?

    /// Creates a failure of the client itself.
    init(_ kind: String, _ message: String) {
        self.kind = kind
        exitStatus = Self.exitStatuses[kind] ?? ExitStatus.failed
        self.message = Self.oneLine(message)
    }

    /// Creates a failure from an error of the framework, or of a value that the client has passed to the framework.
    init(_ error: any Error) {
        switch error {
        case let failure as RequestFailure: self = failure
        case is CancellationError: self.init("cancelled", "the request was cancelled")
        case let error as TrellisError:
            // The failure of the body's source is more informative than the error of the framework about it.
            if let source = error.underlying as? RequestFailure {
                self.init(source.kind, source.message)
            } else if error.underlying is UndecodableElement {
                self.init("serialization", error.description)
            } else {
                self.init(Self.kind(error.kind), error.description)
            }
            isRetryable = error.isRetryable
            switch error.reason {
            case .proxyFailed(.nameResolution): exitStatus = 5
            case .proxyFailed(.unreachable): exitStatus = 7
            case .exchangeFailed(.connectionLost) where error.response == nil: exitStatus = 52
            case .exchangeFailed(.receive(Self.noResponse)) where error.response == nil: exitStatus = 52
            default: break
            }
            attempts = error.attemptCount
            redirects = error.redirects
            response = error.response
            metrics = error.metrics
            url = error.url
        default: self.init("other", "\(error)")
        }
    }

    /// The framework's words for a connection that ended before the first byte of a response.
    private static let noResponse = "the server closed the connection without a response"

    /// The numbers that curl has for kinds of failures.
    private static let exitStatuses: [String: CInt] = [
        "dns": 6, "connect": 7, "truncated_body": 18, "unacceptable_status": 22, "file": 23, "timeout_connect": 28,
        "timeout_idle": 28, "timeout_deadline": 28, "tls": 35, "too_many_redirects": 47, "send": 55, "receive": 56,
        "untrusted": 60, "content_coding": 61, "body_too_large": 63, "pin_mismatch": 90,
    ]

    /// Returns the report's name for a kind of error. The report has a fixed list of kinds; all others are `other`.
    private static func kind(_ kind: TrellisError.Kind) -> String {
        switch kind {
        case .checksumMismatch, .resumeData: "other"
        case .responseTimeout: TrellisError.Kind.idleTimeout.rawValue
        default: kind.rawValue
        }
    }

    private static func oneLine(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? " " : $0 }))
    }
}
