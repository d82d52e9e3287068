import CurlEngine
import FoundationEssentials

/// The proxies that environment variables name, read as curl does.
///
/// | variable | for |
/// |---|---|
/// | `http_proxy` | `http` URLs. `HTTP_PROXY` is never read: in a CGI program, a client can set it by a `Proxy` field (CVE-2016-5385) |
/// | `https_proxy`, `HTTPS_PROXY` | `https` URLs |
/// | `all_proxy`, `ALL_PROXY` | URLs for which the variables above name no proxy |
/// | `no_proxy`, `NO_PROXY` | the hosts that are reached directly (``ProxyExceptions``) |
///
/// The name in lower case takes precedence. An empty variable counts as unset. A proxy without a scheme is an `http` proxy; a path after
/// its host is ignored. Requests to this machine (``URLOrigin/isLoopback``) are sent directly, in contrast to curl, unless
/// ``includesLoopback`` is set.
public struct ProxyEnvironment: Sendable, Hashable {
    /// A variable with its proxy.
    private struct Variable: Hashable {
        let name: String
        /// The proxy; `nil` if the variable does not name one.
        private(set) var proxy: Proxy?
        /// The reason why the variable does not name a proxy.
        private(set) var reason = ""

        /// Reads the first of some variables that is not empty, if any.
        init?(_ names: [String], _ variables: [String: String]) {
            guard let (name, value) = ProxyEnvironment.first(names, variables) else { return nil }
            self.name = name
            do {
                proxy = try Proxy(variable: value)
            } catch {
                reason = error.reason.description
            }
        }
    }

    /// The variable with the exceptions.
    private struct Exceptions: Hashable {
        let name: String
        let list: ProxyExceptions
    }

    /// Whether requests to this machine go through the proxies too. The default is `false`.
    public var includesLoopback = false
    private let http: Variable?
    private let https: Variable?
    private let exceptions: Exceptions?

    /// Reads variables; by default this process's, now.
    public init(_ variables: [String: String] = ProcessInfo.processInfo.environment) {
        let all = Variable(["all_proxy", "ALL_PROXY"], variables)
        http = Variable(["http_proxy"], variables) ?? all
        https = Variable(["https_proxy", "HTTPS_PROXY"], variables) ?? all
        exceptions = Self.first(["no_proxy", "NO_PROXY"], variables).map {
            Exceptions(name: $0.name, list: ProxyExceptions($0.value))
        }
    }

    private static func first(_ names: [String], _ variables: [String: String]) -> (name: String, value: String)? {
        for name in names {
            guard let value = variables[name] else { continue }
            let text = Substring(value.utf8.drop { $0 <= 0x20 }).withoutTrailingBlanks
            if !text.isEmpty { return (name, text) }
        }
        return nil
    }

    /// Returns the decision for an origin.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if the variable does not name a proxy.
    public func decision(for origin: URLOrigin) throws(TrellisError) -> ProxyDecision {
        guard let variable = origin.scheme == "https" ? https : http else {
            return ProxyDecision(proxies: [], reason: "no variable names one")
        }
        if let exceptions, let match = exceptions.list.match(host: origin.host, port: origin.port) {
            let reason = "\(exceptions.name) entry \(match.number) (\(match.entry)) matches, so not \(variable.name)"
            return ProxyDecision(proxies: [], reason: reason)
        }
        if origin.isLoopback, !includesLoopback {
            return ProxyDecision(proxies: [], reason: "\(origin.host) is this machine, so not \(variable.name)")
        }
        guard let proxy = variable.proxy else {
            throw TrellisError(.invalidRequest(.proxy("\(variable.name) does not name a proxy: \(variable.reason)")))
        }
        return ProxyDecision(proxies: [proxy], reason: "from \(variable.name)")
    }

    /// Whether the challenge of a proxy decides about its authentication scheme.
    var mayWantDigest: Bool { [http, https].contains { $0?.proxy?.withDigest != nil } }

    /// Whether a proxy wants addresses of servers.
    var looksUpServers: Bool { [http, https].contains { $0?.proxy?.looksUpServers == true } }

    /// Returns whether the variable with the exceptions has an entry for an origin.
    package func exempts(_ origin: URLOrigin) -> Bool {
        exceptions?.list.match(host: origin.host, port: origin.port) != nil
    }
}

extension ProxyEnvironment: RedactedDescription {
    /// The names of the variables with their proxies, without names and passwords.
    public var description: String {
        let proxies = [http, https].compactMap { $0 }.map { variable in
            "\(variable.name): \(variable.proxy?.url ?? "malformed")"
        }
        return (proxies + [exceptions.map { "\($0.name): \($0.list)" }].compactMap { $0 }).joined(separator: "; ")
    }
}
