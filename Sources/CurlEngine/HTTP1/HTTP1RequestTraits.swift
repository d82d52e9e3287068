/// The properties of a request on which the reading of its response depends.
struct HTTP1RequestTraits: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    /// The method is HEAD, whose responses have no body.
    static let isHead = HTTP1RequestTraits(rawValue: 1)
    /// The method is CONNECT, after which a connection with a status of the class 2xx is a tunnel.
    static let isConnect = HTTP1RequestTraits(rawValue: 2)
    /// The request asks the server to switch protocols (RFC 9110, section 7.8).
    static let switchesProtocols = HTTP1RequestTraits(rawValue: 4)
    /// The request asks the server to close the connection.
    static let closes = HTTP1RequestTraits(rawValue: 8)
    /// The request asks for a response of status 100 before its body is sent (RFC 9110, section 10.1.1).
    static let expectsContinue = HTTP1RequestTraits(rawValue: 16)
}
