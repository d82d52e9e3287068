import FoundationEssentials
import HTTPTypes

/// A part of a response, in the order in which a connection gets them: any number of informational heads, the head, the body, the end.
enum ResponsePart: Sendable {
    /// A head with a status of 1xx.
    case informational(HTTPResponse)
    /// The final head.
    case head(HTTPResponse)
    /// Bytes of the body.
    case body(Data)
    /// The end of the response, with fields after its body.
    case end(trailers: HTTPFields)
    /// The end of the connection in the middle of the response.
    case cut
}
