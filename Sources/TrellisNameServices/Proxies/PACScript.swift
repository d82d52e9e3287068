import CurlEngine
public import TrellisCore

/// A script for the automatic configuration of proxies (PAC): JavaScript whose function `FindProxyForURL(url, host)` names the proxies for
/// a URL.
///
/// ```swift
/// configuration.proxy = .automatic(try .url("https://wpad.example/proxy.pac"))
/// configuration.proxy = .automatic(.file("/etc/proxy.pac"), credentials: [try Proxy("http://ada:\(password)@proxy.example:3128")])
/// ```
///
/// The function returns a list such as `PROXY proxy.example:3128; DIRECT`, whose entries are tried in order, at most 32 of them.
///
/// | entry | proxy | default port |
/// |---|---|---|
/// | `DIRECT` | a direct connection; so are an empty result and `null` | |
/// | `PROXY host:port`, `HTTP host:port` | ``Proxy/Kind/http`` | 80 |
/// | `HTTPS host:port` | ``Proxy/Kind/https`` | 443 |
/// | `SOCKS host:port`, `SOCKS4 host:port` | ``Proxy/Kind/socks4`` | 1080 |
/// | `SOCKS5 host:port` | ``Proxy/Kind/socks5h`` | 1080 |
/// | any other | left out; if no entry is left, the request fails | |
///
/// The library libpacparser must be installed (Debian: `libpacparser1`). A request whose proxies are not known fails with
/// ``TrellisError/Kind/proxy``, and never goes direct. <doc:Proxies> has the limits.
///
/// The library's JavaScript engine is old and limits neither time nor memory. Use only scripts that you trust as much as the program, and
/// fetch them with `https`.
public struct PACScript: Sendable, Hashable {
    /// The origin of the script.
    enum Source: Sendable, Hashable {
        case text(TextBytes)
        case file(path: String)
        case url(String)

        /// Returns whether the bytes of the scripts, the paths or the URLs are the same.
        static func == (one: Source, other: Source) -> Bool {
            switch (one, other) {
            case (.text(let one), .text(let other)): one == other
            case (.file(let one), .file(let other)), (.url(let one), .url(let other)): one.hasSameBytes(as: other)
            case (.text, _), (.file, _), (.url, _): false
            }
        }

        /// Hashes a script in memory by its length alone: it is the key of a table that is read for each request.
        func hash(into hasher: inout Hasher) {
            switch self {
            case .text(let script): hasher.combine(script.text.utf8.count)
            case .file(let path): hasher.combine(path)
            case .url(let url): hasher.combine(url)
            }
        }
    }

    let source: Source
    /// Whether the script gets the path and the query of `http` URLs. The default is `false`: the script gets only the scheme,
    /// the host and the port, as in `http://example.com/`. It never gets user information and fragments, nor the path and the query of
    /// `https` URLs.
    public var includesPaths = false
    /// Whether the script is asked for the proxies of requests to this machine (``URLOrigin/isLoopback``), which are otherwise
    /// sent directly. The default is `false`.
    public var includesLoopback = false
    /// The result of the script's function `myIpAddress()`. The default, `nil`, means the address from which packets to other networks
    /// leave this machine, or `127.0.0.1` if there is none.
    public var ownAddress: String?

    private init(_ source: Source) { self.source = source }

    /// A script in memory.
    public static func text(_ script: String) -> PACScript { PACScript(.text(TextBytes(script))) }

    /// A script in a file of at most 1 MiB. The file is read again after a minute.
    public static func file(_ path: some FilePathConvertible) -> PACScript {
        PACScript(.file(path: path.filePath))
    }

    /// A script of at most 1 MiB that is fetched from a URL, by the first request that needs it.
    ///
    /// It is fetched with a direct connection and the session's trust in certificates, without the session's client certificate, steps,
    /// default fields and cookies, within 30 seconds, through at most five redirects. It is fetched again after the `max-age` of its
    /// response (RFC 9111, section 5.2.2.1), but at least a minute and at most a day later; without `max-age`, after an hour. If it cannot
    /// be fetched again, the previous script is used for a minute more; while it is being fetched again, requests wait for a second at
    /// most, and then use the previous script.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` unless the URL is an absolute `http` or `https` URL; the errors
    ///   of the URL's own conversion.
    public static func url(_ url: some URLConvertible) throws -> PACScript {
        let text = try url.asURLString()
        do throws(WireURL.ParseFailure) {
            _ = try WireURL(parsing: text)
        } catch {
            throw TrellisError(
                .invalidRequest(.url("it is not that of a PAC script: it is not an absolute http or https URL")),
                url: text)
        }
        return PACScript(.url(text))
    }
}

extension PACScript: RedactedDescription {
    /// The origin of the script, without secrets.
    public var description: String {
        switch source {
        case .text(let script): "PACScript(\(script.text.utf8.count) bytes)"
        case .file(let path): "PACScript(\(path))"
        case .url(let url): "PACScript(\(URLRedaction.redact(url)))"
        }
    }
}

extension PACScript: ProxyScript {
    package func makeState() -> any ProxyScriptState { PACState(self) }

    /// Returns the arguments of the script's function for a URL.
    func question(for url: WireURL) -> ProxyScriptRunner.Question {
        let isWhole = includesPaths && url.scheme == "http"
        // Without brackets, as browsers do it.
        let host = url.host.hasBytePrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
        return ProxyScriptRunner.Question(
            url: isWhole ? url.text : url.origin + "/", host: host.lowercasedASCII(), ownAddress: ownAddress)
    }
}

extension ProxyConfiguration {
    /// The proxies that a script names for the URL of a request (PAC). The error of the script is the error of the call.
    ///
    /// - Parameters:
    ///   - script: The script.
    ///   - credentials: Proxies with credentials. If the script names a proxy with the host and the port of one of them, and of the same
    ///     protocol (any version of SOCKS), the request goes through the one here. A script itself cannot name credentials.
    public static func automatic(_ script: PACScript, credentials: [Proxy] = []) -> ProxyConfiguration {
        ProxyConfiguration(.automatic(script, credentials: credentials))
    }
}
