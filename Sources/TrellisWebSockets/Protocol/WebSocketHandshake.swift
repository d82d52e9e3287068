import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The opening handshake of a connection (RFC 6455, section 4): the fields of its request, and the checks of the response.
struct WebSocketHandshake: Sendable {
    /// A result of the handshake.
    struct Agreement: Hashable, Sendable {
        /// The subprotocol that the server has chosen; `nil` if it has chosen none.
        var subprotocol: String?
        /// The compression; `nil` if there is none.
        var compression: WebSocketDeflate?
        /// The extensions as the server has accepted them; empty if there are none.
        var extensions = ""
    }

    let subprotocols: [String]
    /// The compression that is offered; `nil` if there is none.
    let compression: WebSocketCompression?

    /// Creates a handshake with the settings of a connection. Without a zlib in the process, no compression is offered.
    init(_ options: WebSocketOptions) {
        subprotocols = options.subprotocols
        let hasLibrary = ContentCoding.deflate.canDecode && ContentCoding.deflate.canEncode
        compression = hasLibrary ? options.compression : nil
    }

    /// Creates a handshake that offers exactly this.
    init(subprotocols: [String] = [], compression: WebSocketCompression? = nil) {
        self.subprotocols = subprotocols
        self.compression = compression
    }

    /// Adds the fields of the handshake to a request, and removes what the request has of them.
    func add(to fields: inout HTTPFields) {
        fields[.connection] = "Upgrade"
        fields[.upgrade] = "websocket"
        // Each exchange gets a new key.
        fields[.secWebSocketKey] = ""
        fields[.secWebSocketVersion] = "13"
        fields[.secWebSocketProtocol] = subprotocols.isEmpty ? nil : subprotocols.joined(separator: ", ")
        fields[.secWebSocketExtensions] = compression.map(WebSocketDeflate.offer)
    }

    /// Returns the result of the handshake from a response with status 101 (RFC 6455, section 4.1, and RFC 9110, section 7.8), or from one
    /// that has accepted a stream (RFC 8441, section 5).
    ///
    /// - Parameter key: The key of the request that was answered, its `Sec-WebSocket-Key`; `nil` over HTTP/2, where there is none.
    /// - Throws: A failure with the first field that is missing or wrong.
    func check(_ fields: HTTPFields, key: String?) throws(TrellisError.WebSocketFailure) -> Agreement {
        if let key { try checkUpgrade(fields, key: key) }
        var agreement = Agreement()
        agreement.subprotocol = try subprotocol(fields[values: .secWebSocketProtocol])
        let extensions = fields[values: .secWebSocketExtensions]
        do throws(WebSocketExtension.Refusal) {
            agreement.compression = try compression(extensions)
        } catch {
            throw .handshake("the server's Sec-WebSocket-Extensions \(error.message)")
        }
        agreement.extensions = extensions.joined(separator: ", ")
        return agreement
    }

    private func checkUpgrade(_ fields: HTTPFields, key: String) throws(TrellisError.WebSocketFailure) {
        let upgrades = fields[values: .upgrade]
        guard upgrades.count == 1, upgrades[0].lowercasedASCII().hasSameBytes(as: "websocket") else {
            throw .handshake("the server's Upgrade is \(Self.quoted(upgrades)), not \"websocket\"")
        }
        let connections = fields[values: .connection]
        guard connections.contains(where: { Self.tokens($0).contains("upgrade") }) else {
            throw .handshake("the server's Connection is \(Self.quoted(connections)), without \"Upgrade\"")
        }
        let accepts = fields[values: .secWebSocketAccept]
        guard accepts.count == 1, accepts[0].hasSameBytes(as: WebSocketKey.accept(key)) else {
            throw .handshake(
                accepts.isEmpty
                    ? "the server sent no Sec-WebSocket-Accept"
                    : "the server's Sec-WebSocket-Accept does not belong to the key of the request")
        }
    }

    private func subprotocol(_ values: [String]) throws(TrellisError.WebSocketFailure) -> String? {
        guard let value = values.first else { return nil }
        guard values.count == 1, subprotocols.contains(where: { $0.hasSameBytes(as: value) }) else {
            throw .handshake("the server chose the subprotocol \(Self.quoted(values)), which was not offered")
        }
        return value
    }

    private func compression(_ values: [String]) throws(WebSocketExtension.Refusal) -> WebSocketDeflate? {
        var accepted: WebSocketDeflate?
        for value in values {
            for element in try WebSocketExtension.list(value) {
                guard let compression, element.name.hasSameBytes(as: WebSocketDeflate.name) else {
                    throw .init("has \(element.name), which was not offered")
                }
                guard accepted == nil else { throw .init("repeats \(element.name)") }
                accepted = try WebSocketDeflate(accepting: element.parameters, of: compression)
            }
        }
        return accepted
    }

    /// Returns the elements of a list in lower case.
    private static func tokens(_ value: String) -> [String] {
        value.split(atByte: ",").map { element in
            let bytes = element.utf8.drop { $0 == 0x20 || $0 == 0x09 }
            return String(decoding: bytes.prefix { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self).lowercasedASCII()
        }
    }

    private static func quoted(_ values: [String]) -> String {
        values.isEmpty ? "missing" : "\"\(values.joined(separator: ", ").prefix(200))\""
    }
}

/// The key of a handshake, as a server answers it.
package enum WebSocketKey {
    /// The number that the server appends to the key (RFC 6455, section 1.3).
    private static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    /// Returns the value that shows that a server has read a key.
    package static func accept(_ key: String) -> String {
        Data(SHA1.hash(Array((key + suffix).utf8))).base64EncodedString()
    }
}
