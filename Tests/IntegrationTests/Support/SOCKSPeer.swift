import CurlEngine
import Foundation
import Trellis
import TrellisTesting

/// A SOCKS proxy that follows a script, and then responds itself in place of the server.
enum SOCKSPeer {
    /// The connection that a client has asked for.
    struct Connect: Hashable, Sendable {
        let version: UInt8
        let host: String
        let port: Int
        let username: String?
        let password: String?
    }

    /// The parts of a dialogue at which a script deviates.
    enum Point: String, Sendable, CaseIterable {
        case method, login, reply
    }

    /// The deviation at a point.
    enum Deviation: Sendable {
        case silence, end, garbage
        case bytes([UInt8])
    }

    /// Starts a proxy.
    ///
    /// - Parameters:
    ///   - login: The name and password that SOCKS 5 clients must have; `nil` if the proxy asks for none.
    ///   - reply: The code of the reply to the request for a connection; zero is success, for SOCKS 4 too.
    ///   - replies: The codes of the replies for some hosts, in place of `reply`.
    ///   - deviation: The point at which the proxy deviates from the protocol, and how.
    ///   - silent: The gate that opens when the proxy has fallen silent.
    ///   - server: The behaviour after the connection is made. The default is an HTTP server that names the connection.
    static func start(
        on address: LoopbackServer.Address = .ipv4, login: (String, String)? = nil, reply: UInt8 = 0,
        replies: [String: UInt8] = [:], deviation: (Point, Deviation)? = nil,
        silent: LoopbackServer.Gate = LoopbackServer.Gate(), connects: Recorder? = nil,
        server: (@Sendable (LoopbackServer.Connection) throws -> Void)? = nil
    ) throws -> LoopbackServer {
        let code: @Sendable (String) -> UInt8 = { replies[$0] ?? reply }
        return try LoopbackServer(on: address) { connection in
            let version = try connection.read(exactly: 1)[0]
            let connect =
                version == 4
                ? try fourth(connection, code, (deviation, silent))
                : try fifth(connection, login.map { Data("\($0.0):\($0.1)".utf8) }, code, (deviation, silent))
            guard let connect else { return }
            connects?.add(connect)
            if let server { return try server(connection) }
            while let head = try connection.readHead() {
                _ = try connection.readBody(of: head, storing: false)
                let text = "SOCKS \(connect.version) to \(connect.host):\(connect.port) as \(connect.username ?? "-")"
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
            }
        }
    }

    /// A list of connections that clients have asked for.
    final class Recorder: Sendable {
        private let connects = Locked<[Connect]>([])
        var all: [Connect] { connects.withLock { $0 } }
        func add(_ connect: Connect) { connects.withLock { $0.append(connect) } }
    }

    /// A deviation, and the gate that opens when the proxy falls silent.
    private typealias Plan = (deviation: (Point, Deviation)?, silent: LoopbackServer.Gate)

    /// Deviates if the script does so here. Returns whether it did.
    private static func deviates(
        _ connection: LoopbackServer.Connection, at point: Point, _ plan: Plan
    ) throws -> Bool {
        guard let deviation = plan.deviation, deviation.0 == point else { return false }
        switch deviation.1 {
        case .silence:
            plan.silent.open()
            connection.waitUntilPeerCloses()
        case .end: break
        case .garbage: try connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
        case .bytes(let bytes): try connection.write(bytes)
        }
        return true
    }

    private static func text(_ connection: LoopbackServer.Connection) throws -> String {
        var bytes: [UInt8] = []
        while let byte = try connection.read(exactly: 1).first, byte != 0 { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func port(_ connection: LoopbackServer.Connection) throws -> Int {
        let bytes = try connection.read(exactly: 2)
        return Int(bytes[0]) << 8 | Int(bytes[1])
    }

    private static func fourth(
        _ connection: LoopbackServer.Connection, _ reply: (String) -> UInt8, _ plan: Plan
    ) throws -> Connect? {
        _ = try connection.read(exactly: 1)
        let port = try port(connection)
        let address = try connection.read(exactly: 4)
        let user = try text(connection)
        // An address of 0.0.0.x means that a name follows.
        let host =
            address.starts(with: [0, 0, 0]) ? try text(connection) : address.map(String.init).joined(separator: ".")
        if try deviates(connection, at: .reply, plan) { return nil }
        let code = reply(host)
        try connection.write([0, code == 0 ? 90 : code] + [UInt8](repeating: 0, count: 6))
        guard code == 0 else { return nil }
        return Connect(version: 4, host: host, port: port, username: user.isEmpty ? nil : user, password: nil)
    }

    private static func fifth(
        _ connection: LoopbackServer.Connection, _ login: Data?, _ reply: (String) -> UInt8,
        _ plan: Plan
    ) throws -> Connect? {
        let count = try connection.read(exactly: 1)[0]
        let methods = try connection.read(exactly: Int(count))
        if try deviates(connection, at: .method, plan) { return nil }
        var pair: (String, String)?
        let method: UInt8 = login == nil ? 0 : 2
        guard methods.contains(method) else {
            try connection.write([5, 255])
            return nil
        }
        try connection.write([5, method])
        if let login {
            _ = try connection.read(exactly: 1)
            let name = try connection.read(exactly: Int(try connection.read(exactly: 1)[0]))
            let password = try connection.read(exactly: Int(try connection.read(exactly: 1)[0]))
            if try deviates(connection, at: .login, plan) { return nil }
            let isRight = Data(name) + Data(":".utf8) + Data(password) == login
            try connection.write([1, isRight ? 0 : 1])
            guard isRight else { return nil }
            pair = (String(decoding: name, as: UTF8.self), String(decoding: password, as: UTF8.self))
        }
        let type = try connection.read(exactly: 4)[3]
        let host: String
        switch type {
        case 1: host = try connection.read(exactly: 4).map(String.init).joined(separator: ".")
        case 4: host = try connection.read(exactly: 16).map { String($0, radix: 16) }.joined(separator: ":")
        default:
            let length = try connection.read(exactly: 1)[0]
            host = String(decoding: try connection.read(exactly: Int(length)), as: UTF8.self)
        }
        let port = try port(connection)
        if try deviates(connection, at: .reply, plan) { return nil }
        let code = reply(host)
        try connection.write([5, code, 0, 1, 0, 0, 0, 0, 0, 0])
        guard code == 0 else { return nil }
        return Connect(version: 5, host: host, port: port, username: pair?.0, password: pair?.1)
    }
}
