import FoundationEssentials
import HTTPTypes
import Trellis

/// A response of the origin or of the cache, as it goes to the client.
enum PassedResponse {
    /// The failure of a response that cannot be passed on, because the gateway does not know its transfer coding.
    struct UnknownCoding: Error {}

    /// Returns the final head: the fields of the response without fields of the connection, with `Via`, and with `Cache-Status` if there is
    /// a cache (RFC 9211, section 2: the cache that is nearest to the user comes last).
    static func head(of response: Response) throws -> HTTPResponse {
        var fields = HTTPFields(passed(response.headers))
        let codings = response.headers[values: .transferEncoding]
        guard codings.allSatisfy({ $0.lowercasedASCII() == "chunked" }) else { throw UnknownCoding() }
        let lengths = fields[values: .contentLength]
        // The chunks give the length of a chunked body (RFC 9112, section 6.3); and a 204 has none (RFC 9110, section 8.6).
        if !codings.isEmpty || response.status.code == 204 {
            fields[.contentLength] = nil
        } else if lengths.count > 1 || lengths.first.map({ Int64($0) ?? -1 < 0 }) ?? false {
            fields[.contentLength] = fields.elements(of: .contentLength).first
        }
        if !fields.contains(.date) {
            // The age of a stored response tells when it was received.
            let age = fields[.age].flatMap { Double($0) } ?? 0
            let received = response.cacheStatus?.isFromCache == true ? Date.now - age : .now
            fields.append(HTTPField(name: .date, value: HTTPDateText.text(of: received)))
        }
        fields.append(HTTPField(name: .via, value: "\(response.version) \(GatewayName.pseudonym)"))
        if let status = response.cacheStatus {
            fields.append(HTTPField(name: .cacheStatus, value: status.description))
        }
        return HTTPResponse(status: response.status, headerFields: fields)
    }

    /// Returns an informational head.
    static func informational(_ head: ResponseHead) -> HTTPResponse {
        let fields = passed(head.headers).filter { $0.name != .contentLength }
        return HTTPResponse(status: head.status, headerFields: HTTPFields(fields))
    }

    /// Returns the fields without fields of the connection, and without the services that the origin names for itself: a client would take
    /// them for the gateway's, and go around it (RFC 7838, section 2).
    private static func passed(_ fields: HTTPFields) -> [HTTPField] {
        let options = ConnectionOptions(fields)
        return fields.filter { !options.contains($0.name) && $0.name.canonicalName != "alt-svc" }
    }
}
