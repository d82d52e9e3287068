import FoundationEssentials
import HTTPTypes

extension SessionConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The settings, without the secrets of the base URL, of the default fields, of the default query items, of proxies and of a
    /// ``DNSOverHTTPS``.
    public var description: String {
        "SessionConfiguration(\(settings.map { "\($0.name): \($0.value)" }.joined(separator: ", ")))"
    }

    /// The same text as ``description``.
    public var debugDescription: String { description }

    /// A mirror of the settings without those secrets, so that `dump` and debuggers do not show them either.
    public var customMirror: Mirror {
        let children = settings.map { setting -> Mirror.Child in (label: setting.name, value: setting.value) }
        return Mirror(self, children: children, displayStyle: .struct)
    }

    /// The settings as they are shown.
    private var settings: [(name: String, value: Any)] {
        var settings: [(name: String, value: Any)] = []
        func add(_ name: String, _ value: Any?) { settings.append((name, value ?? "none")) }
        add("timeouts", timeouts)
        add("limits", limits)
        add("keptConnections", keptConnections.map { "\(URLRedaction.redact($0)): \($1)" }.sorted())
        add("engines", engines)
        add("bandwidth", bandwidth)
        add("tls", tls)
        add("serverTrustManager", serverTrustManager)
        add("collectsServerTrust", collectsServerTrust)
        add("tlsForHosts", tlsForHosts)
        add("httpVersion", httpVersion)
        add("http2", http2)
        add("followsNetworkChanges", followsNetworkChanges)
        add("baseURL", shownBaseURL)
        add("defaultQueryItems", defaultQueryItems.map(Self.text(of:)))
        add("defaultHeaders", defaultHeaders.map { "\($0.name): \(SecretFields.redacted($0))" })
        add("userAgent", userAgent)
        add("accept", accept)
        add("acceptLanguage", acceptLanguage)
        add("maximumBodySize", maximumBodySize)
        add("maximumHeaderSize", maximumHeaderSize)
        add("decodesContent", decodesContent)
        add("steps", steps)
        add("eventMonitors", eventMonitors)
        add("eventBufferSize", eventBufferSize)
        add("route", route)
        add("resolver", resolver)
        add("proxy", proxy)
        add("endpoints", endpoints.map { "\(URLRedaction.redact($0)): \($1)" }.sorted())
        add("egress", egress)
        add("hsts", secureHosts)
        add("alternativeServices", alternatives)
        return settings
    }

    /// The base URL without its secrets; `nil` if there is none.
    private var shownBaseURL: String? {
        guard let baseURL else { return nil }
        guard let text = try? baseURL.asURLString() else { return "not a URL" }
        return URLRedaction.redact(text)
    }

    private static func text(of item: URLQueryItem) -> String {
        guard let value = item.value else { return item.name }
        return "\(item.name)=\(URLRedaction.isSecret(item.name[...]) ? "REDACTED" : value)"
    }
}
