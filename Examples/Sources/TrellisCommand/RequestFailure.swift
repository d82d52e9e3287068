import Trellis

/// Why there is no answer, or no whole one: what the report says about it.
struct RequestFailure: Error {
    /// A kind of the report.
    let kind: String
    /// A sentence on one line.
    let message: String
    var isRetryable = false
    var attempts = 0
    /// What was followed up to then.
    var redirects: [Redirect] = []
    /// The response that it is about, where there is one.
    var response: Response?
    /// What was measured up to then, where that is known.
    var metrics: Metrics?
    /// The URL without secrets, where it is known.
    var url: String?

    /// A failure of the client itself.
    init(_ kind: String, _ message: String) {
        self.kind = kind
        self.message = Self.oneLine(message)
    }

    /// A failure of the framework, or of what it was given.
    init(_ error: any Error) {
        switch error {
        case let failure as RequestFailure: self = failure
        case is CancellationError: self.init("cancelled", "the request was cancelled")
        case let error as TrellisError:
            // The failure of the body's source says more than that it failed.
            if let source = error.underlying as? RequestFailure {
                self.init(source.kind, source.message)
            } else if error.underlying is UndecodableElement {
                self.init("serialization", error.description)
            } else {
                self.init(Self.kind(error.kind), error.description)
            }
            isRetryable = error.isRetryable
            attempts = error.attempt
            redirects = error.redirects
            response = error.response
            metrics = error.metrics
            url = error.url
        default: self.init("other", "\(error)")
        }
    }

    /// The kinds of the report are fixed; the framework has more.
    private static func kind(_ kind: TrellisError.Kind) -> String {
        switch kind {
        case .checksumMismatch, .resumeData: "other"
        default: kind.rawValue
        }
    }

    private static func oneLine(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? " " : $0 }))
    }
}
