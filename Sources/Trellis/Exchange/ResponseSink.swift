import CurlEngine
import FoundationEssentials

/// Where the body of a response goes.
enum ResponseSink {
    /// Into memory, all of it.
    case memory
    /// To a reader, as it comes.
    case stream(BodyInbox)
}

/// A whole answer.
typealias CollectedResponse = (Data, Response)
