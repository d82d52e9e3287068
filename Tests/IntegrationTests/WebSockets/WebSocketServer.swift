import CurlEngine
import Foundation
import HTTPTypes
import TrellisTesting

@testable import TrellisCore
@testable import TrellisWebSockets

/// A server of WebSockets that sends messages back, and whose paths respond in other ways too.
final class WebSocketServer: Sendable {
    let server: LoopbackServer
    /// The codes of the Close frames that the server has received.
    private let codes: Locked<[UInt16]>
    private let keys: Locked<[String]>

    init() throws {
        let (codes, keys) = (Locked<[UInt16]>([]), Locked<[String]>([]))
        (self.codes, self.keys) = (codes, keys)
        server = try LoopbackServer { connection in
            while let request = try connection.readHead() {
                guard let key = request.headers[.secWebSocketKey] else {
                    return try connection.write("HTTP/1.1 400 No\r\n\r\n")
                }
                keys.withLock { $0.append(key) }
                if let refusal = Self.refusal(request.path, hasCookie: request.headers[.cookie] != nil) {
                    try connection.write(refusal)
                    continue
                }
                let head = Array(Self.head(request.path, WebSocketKey.accept(key)).utf8)
                // The first frame is in the same packet as the head.
                let early = request.path == "/early" ? Self.frame(0x81, Array("early".utf8)) : []
                try connection.write(head + early)
                try Self.converse(connection, request.path, codes)
                return
            }
        }
    }

    func url(_ path: String = "/", scheme: String = "http") -> String { server.url(path, scheme: scheme) }

    /// The keys of the handshakes that the server has received, in order.
    var receivedKeys: [String] { keys.withLock { $0 } }

    /// The code of the last Close frame that the server has received.
    var lastCloseCode: UInt16? { codes.withLock { $0.last } }

    private static func refusal(_ path: String, hasCookie: Bool) -> String? {
        switch path {
        case "/redirect": "HTTP/1.1 302 Found\r\nLocation: /cookie\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
        case "/cookie": hasCookie ? nil : "HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nno cookie"
        case "/refused": "HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nno cookie"
        default: nil
        }
    }

    private static func head(_ path: String, _ accept: String) -> String {
        var head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        switch path {
        case "/no-accept": break
        case "/wrong-accept": head += "Sec-WebSocket-Accept: \(accept.lowercased())\r\n"
        default: head += "Sec-WebSocket-Accept: \(accept)\r\n"
        }
        if path == "/extension" { head += "Sec-WebSocket-Extensions: x-unknown\r\n" }
        if path == "/subprotocol" { head += "Sec-WebSocket-Protocol: chat\r\n" }
        head += "\r\n"
        return head
    }

    private static func converse(_ connection: LoopbackServer.Connection, _ path: String, _ codes: Locked<[UInt16]>)
        throws
    {
        if path == "/once" { try connection.write(frame(0x81, Array("once".utf8)) + frame(0x88, [3, 232])) }
        while let (first, payload) = try nextFrame(connection) {
            switch first {
            case 0x88:
                codes.withLock { $0.append(payload.prefix(2).reduce(0) { $0 << 8 | UInt16($1) }) }
                if path != "/once" { try connection.write(frame(0x88, Array(payload.prefix(2)))) }
                return
            case 0x89: try connection.write(frame(0x8A, payload))
            default: try connection.write(frame(first, payload))
            }
        }
    }

    private static func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
        payload.count < 126
            ? [first, UInt8(payload.count)] + payload
            : [first, 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
    }

    /// Returns the first byte and the payload of the next frame; `nil` at the end.
    private static func nextFrame(_ connection: LoopbackServer.Connection) throws -> (UInt8, [UInt8])? {
        guard let head = try? connection.read(exactly: 2) else { return nil }
        var count = Int(head[1] & 0x7F)
        if count == 126 { count = try connection.read(exactly: 2).reduce(0) { $0 << 8 | Int($1) } }
        let mask = try connection.read(exactly: 4)
        let payload = try connection.read(exactly: count)
        return (head[0], payload.enumerated().map { $0.element ^ mask[$0.offset % 4] })
    }
}
