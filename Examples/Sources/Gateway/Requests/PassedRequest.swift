import HTTPTypes
import Trellis

/// A client's request as it goes to the origin.
///
/// Its method, target and fields are the client's, apart from the fields of the connection, and from `Host`, which is the authority of the
/// origin: the origin is one server for all clients, and the cache, whose keys are URLs, must not store what depends on the client's
/// `Host`.
struct PassedRequest {
    let request: Request

    /// - Parameter passesTrailers: Whether the fields after the body are passed on. Otherwise their announcement is dropped.
    init(_ head: RequestHead, to origin: Origin, passesTrailers: Bool) {
        let options = ConnectionOptions(head.fields)
        var fields = head.fields.filter { field in
            switch field.name {
            // The framing follows from the body.
            case .host, .contentLength: false
            case .trailer: passesTrailers
            case .expect: head.expectsContinue
            default: !options.contains(field.name)
            }
        }
        if head.method == .options || head.method == .trace, let hops = head.fields.maximumForwards {
            fields[.maxForwards] = "\(hops - 1)"
        }
        if head.acceptsTrailers {
            fields.append(HTTPField(name: .te, value: "trailers"))
            fields.append(HTTPField(name: .connection, value: "TE"))
        }
        fields.append(HTTPField(name: .via, value: "\(head.isHTTP1_0 ? "1.0" : "1.1") \(GatewayName.pseudonym)"))
        var request = Request(origin.url + head.path, method: head.method, headers: HTTPFields(fields))
        request.sendsURLUnchanged = true
        request.isSentOnce = true
        // A length of zero is stated where the client has stated it; a `GET` or `HEAD` request needs none.
        if head.framing == .length(0), head.method != .get, head.method != .head { request.body = .data(Data()) }
        self.request = request
    }
}

/// The name of the gateway in the fields `Via` and `Proxy-Status` (RFC 9110, section 7.6.3).
enum GatewayName {
    static let pseudonym = "trellis"
}

extension RequestHead {
    /// The path and query, which are empty in a request for the server as a whole: its target is `*` (RFC 9112, section 3.2.4).
    fileprivate var path: String {
        switch target {
        case .path(let path): path
        case .server: ""
        }
    }

    /// Whether the client and those before it take the trailers of a response (RFC 9110, section 10.1.4).
    fileprivate var acceptsTrailers: Bool {
        !isHTTP1_0 && fields.elements(of: .te).contains("trailers")
    }
}

extension HTTPFields {
    /// The number of `Max-Forwards`, or the largest that is supported (RFC 9110, section 7.6.2); `nil` if it is missing or malformed.
    var maximumForwards: Int? {
        self[.maxForwards].flatMap { text in
            text.isEmpty || !text.utf8.allSatisfy { 0x30...0x39 ~= $0 } ? nil : Int(text) ?? .max
        }
    }

    /// Whether the request has passed this gateway, or one of the same name, more often than makes sense.
    var showsLoop: Bool {
        let name = Array(GatewayName.pseudonym.utf8)
        return elements(of: .via).count { hop in
            hop.utf8.split { $0 == 0x20 || $0 == 0x09 }.dropFirst().first?.elementsEqual(name) == true
        } >= 10
    }
}
