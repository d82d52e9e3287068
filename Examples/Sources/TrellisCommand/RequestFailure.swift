import Trellis

/// The reason why there is no response, or no complete one, as stated in the report.
struct RequestFailure: Error {
    /// The kind in the report.
    let kind: String
    /// The message, a sentence on one line.
    var message: String
    var isRetryable = false
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
            attempts = error.attemptCount
            redirects = error.redirects
            response = error.response
            metrics = error.metrics
            url = error.url
        default: self.init("other", "\(error)")
        }
    }

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
