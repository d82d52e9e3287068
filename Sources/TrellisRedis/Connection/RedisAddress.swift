#if Redis
import CurlEngine
import TrellisCore

/// The address of a server: `redis://host:6379/0`, `rediss://…` with TLS, or `unix:///run/redis.sock`.
struct RedisAddress: RedactedDescription, Sendable {
    /// The host and the port, as the URL of a connection.
    let url: WireURL
    /// The path of the socket, if the server is at one.
    let socket: String?
    /// The user, the password and the number of the database, if the address has them.
    let username: String?
    let password: String?
    let database: Int?
    /// The address without secrets.
    let text: String

    /// Parses an address.
    init(parsing text: String) throws(RedisFailure) {
        if text.hasBytePrefix("unix:/") {
            let path = String(Substring(text.utf8.dropFirst(5)))
            let socket = path.hasBytePrefix("//") ? String(Substring(path.utf8.dropFirst(2))) : path
            guard socket.hasBytePrefix("/") else {
                throw .malformedAddress(reason: "the path of the socket is relative")
            }
            url = try Self.url("http://localhost/")
            (self.socket, username, password, database, self.text) = (socket, nil, nil, nil, "unix:\(socket)")
            return
        }
        let isSecure = text.hasBytePrefix("rediss://")
        guard isSecure || text.hasBytePrefix("redis://") else {
            throw .malformedAddress(reason: "it begins with none of redis://, rediss:// and unix:/")
        }
        let rest = String(Substring(text.utf8.dropFirst(isSecure ? 9 : 8)))
        // Parsed as a URL of the scheme whose default port no such server has: that port is none.
        let (scheme, absent): (String, UInt16) = isSecure ? ("http", 80) : ("https", 443)
        let parsed = try Self.url("\(scheme)://\(rest)")
        let path = String(Substring(parsed.text.utf8.dropFirst(parsed.origin.utf8.count + 1)))
        guard path.isEmpty || Int(path) != nil else {
            throw .malformedAddress(reason: "its path is no number of a database")
        }
        let port = parsed.port == absent ? 6379 : parsed.port
        url = try Self.url("\(isSecure ? "https" : "http")://\(parsed.host):\(port)/")
        (socket, username, password, database) = (nil, parsed.user, parsed.password, Int(path))
        self.text = "\(isSecure ? "rediss" : "redis")://\(parsed.host):\(port)"
    }

    private static func url(_ text: String) throws(RedisFailure) -> WireURL {
        do throws(WireURL.ParseFailure) {
            return try WireURL(parsing: text)
        } catch {
            switch error {
            case .malformed(let reason): throw .malformedAddress(reason: reason)
            case .empty, .relative, .unsupportedScheme: throw .malformedAddress(reason: "it has no host")
            }
        }
    }

    /// The commands with which a connection begins. Their last reply has the number of the server's run.
    func handshake(_ configuration: RedisConfiguration) -> [RedisCommand] {
        var commands: [RedisCommand] = []
        if let password = configuration.password ?? password {
            let username = configuration.username ?? username
            // Redis before version 6 knows no users.
            let names: [RedisArgument] = username.map { $0.isEmpty ? [] : [.text($0)] } ?? []
            commands.append(RedisCommand("AUTH", names + [.text(password)]))
        }
        if let database = configuration.database ?? database, database != 0 {
            commands.append(RedisCommand("SELECT", [.number(Int64(database))]))
        }
        return commands + [RedisCommand("INFO", [.text("server")])]
    }

    /// Returns the number of the server's run in the answer to `INFO`; an empty text if the server does not tell it.
    static func run(in info: RedisValue) -> String {
        guard let data = info.data else { return "" }
        let name = "run_id:"
        let lines = String(decoding: data, as: UTF8.self).utf8.split { $0 == 0x0D || $0 == 0x0A }
        let line = lines.lazy.map { String(Substring($0)) }.first { $0.hasBytePrefix(name) }
        return line.map { String(Substring($0.utf8.dropFirst(name.utf8.count))) } ?? ""
    }
}
#endif
