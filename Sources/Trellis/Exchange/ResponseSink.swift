import CurlEngine
import FoundationEssentials

/// The destination of a response's body.
enum ResponseSink {
    /// The whole body is collected in memory.
    case memory
    /// The body is passed to a reader as it arrives.
    case stream(BodyInbox)
}

/// A response with its whole body.
typealias CollectedResponse = (Data, Response)
