import CurlEngine
import HTTPTypes

/// The fields of requests before they are sent.
extension RequestPreparation {
    /// Returns the fields with which a request would be sent, apart from those that describe its body's framing.
    ///
    /// - Parameter hasLeft: Indicates whether a redirect has led to an origin that the session's secrets are not meant for.
    func fields(of request: Request, _ url: WireURL, hasLeft: Bool) throws(TrellisError) -> HTTPFields {
        var completed = request
        try complete(&completed, url, hasLeft: hasLeft)
        var fields = completed.headers
        let decodes = request.decodesContent ?? configuration.decodesContent
        if decodes, !fields.contains(.acceptEncoding) { fields.append(.acceptEncoding) }
        return fields
    }
}
