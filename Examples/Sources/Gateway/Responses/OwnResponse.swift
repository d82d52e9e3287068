import FoundationEssentials
import HTTPTypes
import Trellis

/// A response of the gateway's own: to a request that does not reach the origin, or whose response does not come.
struct OwnResponse: Sendable {
    let head: HTTPResponse
    let body: Data

    /// Creates a response with an explanation as its body.
    private init(_ status: HTTPResponse.Status, _ fields: HTTPFields = HTTPFields(), text: String = "") {
        var fields = fields
        body = Data(text.utf8)
        fields.append(HTTPField(name: .date, value: HTTPDateText.text(of: .now)))
        if !text.isEmpty { fields.append(HTTPField(name: .contentType, value: "text/plain; charset=utf-8")) }
        fields.append(HTTPField(name: .contentLength, value: "\(body.count)"))
        head = HTTPResponse(status: status, headerFields: fields)
    }

    /// Creates the response to a request that is refused.
    init(_ refusal: Refusal) {
        self.init(refusal.status, text: "\(refusal.status.code) \(refusal.status.reasonPhrase): \(refusal.reason).\n")
    }

    /// Creates the response to a request that is not passed on; `nil` if the request is.
    init?(to head: RequestHead) {
        if head.fields.showsLoop {
            let status = HTTPResponse.Status(code: 508, reasonPhrase: "Loop Detected")
            self.init(Refusal(status, "the origin is a gateway to itself"))
        } else if head.fields.maximumForwards == 0, head.method == .options {
            // The recipient of a last hop responds itself (RFC 9110, section 7.6.2).
            self.init(.ok)
        } else if head.fields.maximumForwards == 0, head.method == .trace {
            self.init(Refusal(.notImplemented, "the gateway itself does not trace"))
        } else {
            return nil
        }
    }

    /// Creates the response to a request whose response does not come; `nil` if the client has gone.
    init?(_ error: any Error) {
        if let failure = (error as? TrellisError)?.underlying as? ClientBodyFailure {
            switch failure {
            case .disconnected: return nil
            case .timedOut: self.init(Refusal(.requestTimeout, "the body is not complete"))
            case .malformed(let refusal): self.init(refusal)
            }
            return
        }
        let failure = OriginFailure(error)
        var fields = HTTPFields()
        if let token = failure.token {
            fields.append(HTTPField(name: .proxyStatus, value: "\(GatewayName.pseudonym); error=\(token)"))
        }
        let status = failure.status
        self.init(status, fields, text: "\(status.code) \(status.reasonPhrase): \(failure.reason).\n")
    }
}
