import CurlEngine

/// The names and passwords of a `.netrc` file, as curl reads it, by machine.
///
/// ```swift
/// configuration.steps.adapters.append(try await Netrc.load())
/// ```
///
/// The file names machines, not origins: what it holds for one goes to all its ports, over `http` too. Its contents are read
/// when it is asked for, never by itself; they never show in a description.
public struct Netrc: Sendable, Hashable, RedactedDescription {
    /// What the file says of a machine.
    public struct Entry: Sendable, Hashable, RedactedDescription {
        /// The name of the machine, as written; `nil`: any that is not named before it.
        public var machine: String?
        /// The user's name, where there is one.
        public var login: String?
        /// The password, where there is one.
        public var password: String?

        /// An entry.
        public init(machine: String?, login: String? = nil, password: String? = nil) {
            self.machine = machine
            self.login = login
            self.password = password
        }
    }

    /// In the order of the file: the first that fits counts.
    public var entries: [Entry]

    /// Entries that were not read from a file.
    public init(entries: [Entry]) { self.entries = entries }

    /// The name and password for a host.
    ///
    /// - Parameters:
    ///   - host: Its name, in any case; an IPv6 address with brackets or without.
    ///   - user: Whose password is wanted; `nil`: of whoever comes first.
    public func credential(for host: String, user: String? = nil) -> HTTPCredential? {
        let host = Self.name(host)
        for entry in entries {
            if let machine = entry.machine, !Self.name(machine).hasSameBytes(as: host) { continue }
            if let user, let login = entry.login, !login.hasSameBytes(as: user) { continue }
            return .basic(username: user ?? entry.login ?? "", password: entry.password ?? "")
        }
        return nil
    }

    private static func name(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? host.dropFirst().dropLast().lowercased() : host.lowercased()
    }
}

extension Netrc: RequestAdapter {
    /// The request with what the file says of its host. A request with an `Authorization` field or with a password in its URL
    /// keeps its own; for one with only a name in its URL the password of that user is looked for.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        guard let url = CredentialTargets().target(of: request),
            let credential = credential(for: url.host, user: url.user)
        else { return request }
        return credential.added(to: request)
    }
}
