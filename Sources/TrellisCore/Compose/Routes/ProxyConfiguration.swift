/// The choice of the proxies that requests go through.
///
/// ```swift
/// configuration.proxy = .environment                                             // as curl and other tools do
/// configuration.proxy = .always(try Proxy("http://proxy.example:3128"), except: "localhost, .internal.example")
/// configuration.proxy = .selecting { origin in
///     origin.host.hasSuffix(".internal.example") ? [] : [first, second, .direct]
/// }
/// configuration.proxy = .automatic(try .url("https://wpad.example/proxy.pac"))   // a PAC script
/// ```
///
/// If a rule names several proxies, they are tried in order. The next one gets the request if the connection to a proxy, or its tunnel,
/// fails before anything was sent to the server. It also gets a request with an idempotent method for which no connection can be made any
/// more. A body that can be read only once goes through the first proxy, or not at all. A proxy that has failed is tried last for
/// ``coolDown``; if there was a connection to it, so that the server beyond it may be the cause, only for requests to the same origin. If
/// all fail, ``Proxy/direct`` among them, none counts as failed: the cause may be this machine's network.
/// ``RequestEvent/Kind/proxySelected(_:)`` reports the decision for each hop, and for each further proxy.
public struct ProxyConfiguration: Sendable {
    /// The function of ``selecting(_:)``.
    public typealias Selection = @Sendable (URLOrigin) async throws -> [Proxy]

    /// The rules by which proxies are chosen.
    package enum Rule: Sendable {
        /// No proxy.
        case direct
        /// The same proxies for all hosts but some.
        case always([Proxy], except: ProxyExceptions)
        /// The proxies of variables.
        case environment(ProxyEnvironment)
        /// The proxies that a function names.
        case selecting(Selection)
        /// The proxies that a script names.
        case automatic(any ProxyScript, credentials: [Proxy])
    }

    /// The rule of the choice.
    package let rule: Rule
    /// The time for which a proxy that has failed is tried only after all others. The default is five minutes. A change of the machine's
    /// network ends it, if the session observes that (``SessionConfiguration/followsNetworkChanges``).
    public var coolDown = Duration.seconds(300)

    /// Creates a configuration with a rule.
    package init(_ rule: Rule) { self.rule = rule }

    /// No proxy: connections go directly to the servers.
    public static let direct = ProxyConfiguration(Rule.direct)

    /// The proxies of the environment of this process (``ProxyEnvironment``), read now.
    public static var environment: ProxyConfiguration { .environment(ProxyEnvironment()) }

    /// The proxies that variables name.
    public static func environment(_ environment: ProxyEnvironment) -> ProxyConfiguration {
        ProxyConfiguration(.environment(environment))
    }

    /// A proxy for all requests, including those to this machine.
    ///
    /// - Parameters:
    ///   - proxy: The proxy.
    ///   - exceptions: The hosts that are reached directly. The default is none.
    public static func always(_ proxy: Proxy, except exceptions: ProxyExceptions = "") -> ProxyConfiguration {
        .always([proxy], except: exceptions)
    }

    /// Proxies that are tried in order, for all requests, including those to this machine.
    ///
    /// - Parameters:
    ///   - proxies: The proxies, the first one first.
    ///   - exceptions: The hosts that are reached directly. The default is none.
    public static func always(_ proxies: [Proxy], except exceptions: ProxyExceptions = "") -> ProxyConfiguration {
        ProxyConfiguration(.always(proxies, except: exceptions))
    }

    /// The proxies that a function names for the origin of a request. The function is called for each hop, never on the session's threads.
    /// An empty list means a direct connection. The error of the function is the error of the call. After ``Timeouts/connect``, or when the
    /// call ends, its task is cancelled and not waited for.
    public static func selecting(_ selection: @escaping Selection) -> ProxyConfiguration {
        ProxyConfiguration(.selecting(selection))
    }

    /// Whether connections are always direct.
    var isDirect: Bool { if case .direct = rule { true } else { false } }

    /// Whether the proxies are chosen by a function or a script, or several may be tried, or one in several ways or with several
    /// addresses of the server.
    var mustSelect: Bool {
        switch rule {
        case .direct: false
        case .environment(let environment): environment.mayWantDigest || environment.looksUpServers
        case .always(let proxies, _):
            proxies.count > 1 || proxies.contains { $0.withDigest != nil || $0.looksUpServers }
        case .selecting, .automatic: true
        }
    }

    /// Returns the decision for an origin; `nil` if it needs the function of ``selecting(_:)`` or a script.
    ///
    /// - Throws: The error of a variable that does not name a proxy.
    package func decision(for origin: URLOrigin) throws(TrellisError) -> ProxyDecision? {
        switch rule {
        case .direct: return ProxyDecision(proxies: [], reason: "")
        case .always(let proxies, let exceptions):
            guard let match = exceptions.match(host: origin.host, port: origin.port) else {
                return ProxyDecision(proxies: proxies, reason: "from the configuration")
            }
            return ProxyDecision(proxies: [], reason: "exception \(match.number) (\(match.entry)) matches")
        case .environment(let environment): return try environment.decision(for: origin)
        case .selecting, .automatic: return nil
        }
    }
}

extension ProxyConfiguration: RedactedDescription {
    /// The rule, without names and passwords.
    public var description: String {
        switch rule {
        case .direct: "ProxyConfiguration.direct"
        case .always(let proxies, let exceptions):
            "ProxyConfiguration.always(\(proxies)\(exceptions.isEmpty ? "" : ", except: \(exceptions)"))"
        case .environment(let environment): "ProxyConfiguration.environment(\(environment))"
        case .selecting: "ProxyConfiguration.selecting"
        case .automatic(let script, let credentials):
            "ProxyConfiguration.automatic(\(script)\(credentials.isEmpty ? "" : ", credentials: \(credentials)"))"
        }
    }
}

/// The decision about the proxies of a hop.
public struct ProxyDecision: Sendable, Hashable {
    /// The proxies to try, in order; empty for a direct connection.
    public let proxies: [Proxy]
    /// The origin of the decision in words, such as `from https_proxy`.
    public let reason: String

    /// Creates a decision.
    package init(proxies: [Proxy], reason: String) { (self.proxies, self.reason) = (proxies, reason) }
}

extension ProxyDecision: CustomStringConvertible {
    /// The first proxy, without its credentials, and the reason.
    public var description: String {
        let way = proxies.first.map { $0 == .direct ? "no proxy" : "proxy \($0.url)" } ?? "no proxy"
        return reason.isEmpty ? way : "\(way): \(reason)"
    }
}
