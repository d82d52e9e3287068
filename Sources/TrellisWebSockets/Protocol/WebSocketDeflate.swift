import CurlEngine
import TrellisCore

/// The parameters of permessage-deflate that both sides have agreed on (RFC 7692, section 7.1).
struct WebSocketDeflate: Hashable, Sendable {
    /// The name of the extension.
    static let name = "permessage-deflate"

    var clientWindowBits = 15
    var serverWindowBits = 15
    var clientKeepsContext = true
    var serverKeepsContext = true

    init() {}

    /// Reads a server's acceptance of an offer. Every parameter must be known, given once, in its range, and allowed by the offer (RFC
    /// 7692, section 7.1): a connection on which the sides compress differently would fail later, and less clearly.
    init(
        accepting parameters: [WebSocketExtension.Parameter], of offer: WebSocketCompression
    ) throws(WebSocketExtension.Refusal) {
        clientWindowBits = offer.clientWindowBits
        clientKeepsContext = offer.clientKeepsContext
        var names: Set<TextBytes> = []
        for parameter in parameters {
            guard names.insert(TextBytes(parameter.name)).inserted else {
                throw .init("repeats the parameter \(parameter.name)")
            }
            try take(parameter, offer)
        }
        // A server that accepts an offer with one of these parameters repeats the parameter (sections 7.1.1.1 and 7.1.2.1).
        if !offer.serverKeepsContext, serverKeepsContext { throw .init("lacks server_no_context_takeover") }
        if offer.serverWindowBits < 15, !names.contains(TextBytes("server_max_window_bits")) {
            throw .init("lacks server_max_window_bits")
        }
    }

    private mutating func take(
        _ parameter: WebSocketExtension.Parameter, _ offer: WebSocketCompression
    ) throws(WebSocketExtension.Refusal) {
        switch parameter.name {
        case "server_no_context_takeover", "client_no_context_takeover":
            guard parameter.value == nil else { throw .init("gives \(parameter.name) a value") }
            if parameter.name == "server_no_context_takeover" {
                serverKeepsContext = false
            } else {
                clientKeepsContext = false
            }
        case "server_max_window_bits":
            serverWindowBits = try Self.bits(parameter, upTo: offer.serverWindowBits)
        case "client_max_window_bits":
            clientWindowBits = try Self.bits(parameter, upTo: offer.clientWindowBits)
        default: throw .init("has the unknown parameter \(parameter.name)")
        }
    }

    /// Returns the number of a parameter: decimal digits without leading zeros, from 8 (section 7.1.2).
    private static func bits(
        _ parameter: WebSocketExtension.Parameter, upTo most: Int
    ) throws(WebSocketExtension.Refusal) -> Int {
        let value = parameter.value ?? ""
        guard let bits = (8...15).first(where: { value.hasSameBytes(as: String($0)) }), bits <= most else {
            throw .init("has \(value.isEmpty ? "no value" : "the value \(value)") for \(parameter.name)")
        }
        return bits
    }

    /// Returns the offer of an extension with some settings, as in `Sec-WebSocket-Extensions`.
    static func offer(_ compression: WebSocketCompression) -> String {
        var offer = name
        if !compression.serverKeepsContext { offer += "; server_no_context_takeover" }
        if !compression.clientKeepsContext { offer += "; client_no_context_takeover" }
        if compression.serverWindowBits < 15 { offer += "; server_max_window_bits=\(compression.serverWindowBits)" }
        // Without a value, the parameter tells the server that it may choose one.
        offer += "; client_max_window_bits"
        if compression.clientWindowBits < 15 { offer += "=\(compression.clientWindowBits)" }
        return offer
    }

    /// Returns a decompressor for the server's messages; `nil` if zlib is missing or memory has run out.
    func makeInflater() -> MessageInflater? {
        MessageInflater(windowBits: serverWindowBits, keepsContext: serverKeepsContext)
    }

    /// Returns a compressor for the client's messages; `nil` if zlib is missing or memory has run out.
    func makeDeflater() -> MessageDeflater? {
        MessageDeflater(windowBits: clientWindowBits, keepsContext: clientKeepsContext)
    }
}
