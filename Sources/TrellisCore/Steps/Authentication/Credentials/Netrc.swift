import CurlEngine

/// The names and passwords of a `.netrc` file, by machine, read as curl reads the file.
///
/// ```swift
/// configuration.authentication = .netrc(try await .load())
/// ```
///
/// The file names machines, not origins: an entry applies to all ports of its machine, over `http` too. The file is read when
/// ``load(from:)`` is called, never by itself; its contents never show in a description.
public struct Netrc: Sendable, Hashable, RedactedDescription {
    /// An entry of the file, for one machine.
    public struct Entry: Sendable, Hashable, RedactedDescription {
        /// The name of the machine, as written; `nil` if the entry is for any machine that no entry before it names.
        public var machine: String?
        /// The user's name, if the entry has one.
        public var login: String?
        /// The password, if the entry has one.
        public var password: String?

        /// Creates an entry.
        public init(machine: String?, login: String? = nil, password: String? = nil) {
            self.machine = machine
            self.login = login
            self.password = password
        }
    }

    /// The entries in the order of the file: the first that fits counts.
    public var entries: [Entry]

    /// Creates a value with entries that were not read from a file.
    public init(entries: [Entry]) { self.entries = entries }

    /// Returns the name and password for a host; `nil` if no entry fits.
    ///
    /// - Parameters:
    ///   - host: The name of the host, in any case; an IPv6 address with brackets or without.
    ///   - user: The user whose password is wanted; if `nil`, the user of the first entry that fits.
    public func credential(for host: String, user: String? = nil) -> HTTPCredential? {
        let host = Self.name(host)
        for entry in entries {
            if let machine = entry.machine, !Self.name(machine).hasSameBytes(as: host) { continue }
            if let user, let login = entry.login, !login.hasSameBytes(as: user) { continue }
            return .basic(username: user ?? entry.login ?? "", password: entry.password ?? "")
        }
        return nil
    }

    /// Returns the name of a host in lower case, an IPv6 address without its brackets.
    private static func name(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]")
            ? host.dropFirst().dropLast().lowercasedASCII() : host.lowercasedASCII()
    }
}

extension Netrc: RequestAdapter {
    /// Returns the request with the name and password that the file has for its host. A request with an `Authorization` field or
    /// with a password in its URL keeps its own credentials; a request with only a name in its URL gets the password of that
    /// user.
    ///
    /// - Throws: Nothing.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        guard !context.hasOwnCredentials, let url = CredentialTargets().target(of: request),
            let credential = credential(for: url.host, user: url.user)
        else { return request }
        return credential.added(to: request)
    }
}
