import ArgumentParser
import CURLSyntax
import Trellis

/// The command line. An unknown option is a usage error, and is never ignored.
struct Options: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trellis",
        abstract: "Sends an HTTP request and prints the answer.",
        usage: """
            trellis [METHOD] URL [OPTION…]
            trellis URL… --output FOLDER [OPTION…]
            trellis ws URL [OPTION…]
            trellis gateway --listen HOST:PORT --origin URL [OPTION…]
            """,
        discussion: """
            On a terminal: status line, headers and body, with colours and indented JSON. In a pipe or a file: the body, \
            byte for byte. Redirects are followed unless --no-redirects is given, and any \
            status is an answer unless --validate is given.

              trellis https://example.com/
              trellis -v https://example.com/ --timing
              trellis PUT https://example.com/users/7 --json @user.json
              trellis https://example.com/users --query page=2 --validate
              trellis https://example.com/pictures -F 'picture=@rose.jpg'
              trellis https://example.com/log --stream lines --limit 10
              trellis https://example.com/big.iso -o big.iso --resume
              trellis https://example.com/a https://example.org/b -o files/
              trellis --from-curl "curl …" --swift
              trellis help ws
              trellis --generate-manual | man -l -

            curl's names of options are known too (-k, -sSL, -XPOST, -u, -b, -F, --data-urlencode, --max-time, -K FILE …), and \
            mean what they mean there. A URL without a scheme is http, and :8080/path is on this machine.

            Exit status: 0 done (whatever the HTTP status, unless --validate or --fail), 64 wrong usage, 130 interrupted; a failure has \
            the number that curl has for its kind, such as 6 (name), 7 (connection), 22 (status), 28 (time) and 60 (trust), or else 1.
            """,
        version: "trellis \(TrellisRuntime.version) libcurl/\(TrellisRuntime.libcurlVersion)")

    @Argument(
        help: ArgumentHelp(
            "The method, if any, and the URL, http unless it has a scheme; several of them with --output FOLDER.",
            valueName: "[METHOD] URL"))
    var target: [String] = []

    @Option(
        name: [.customShort("X"), .long], parsing: .unconditional,
        help: ArgumentHelp("The method, sent as it is written.", valueName: "METHOD"))
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "A header field, or a file of such lines; repeatable. 'Name:' leaves a field out, and 'Name;' sends it empty. Content-Length "
                + "and Transfer-Encoding follow from the body.",
            valueName: "\"Name: value\"|@FILE"),
        transform: HeaderLine.init)
    var headers: [HeaderLine] = []

    @Flag(name: .shortAndLong, help: "Print the status and the header fields before the body, as on a terminal.")
    var include = false

    @Flag(name: [.customShort("I"), .long], help: "Send a HEAD request, and print the status and the header fields.")
    var head = false

    @Option(
        help: ArgumentHelp(
            "The version. auto and 2: HTTP/2 where the server offers it during the TLS handshake, else HTTP/1.1 "
                + "(as with curl --http2). 2-only: HTTP/2 or an error. "
                + "2-prior-knowledge: the same, and without TLS HTTP/2 without asking. "
                + "3: HTTP/3 or an error (as with curl --http3-only). 3-preferred: HTTP/3, or else an earlier version.",
            valueName: "auto|1.1|2|2-only|2-prior-knowledge|3|3-preferred"))
    var http = HTTPVersionOption.auto

    @Flag(help: "Send the path as it is written, with its dots: /a/../b.")
    var pathAsIs = false

    @OptionGroup(title: "Body") var content: BodyOptions

    @OptionGroup(title: "Output and files") var places: OutputOptions

    @OptionGroup(title: "Streams") var streaming: StreamOptions

    @OptionGroup(title: "Limits, retries and redirects") var limits: LimitOptions

    @OptionGroup(title: "Credentials and cookies") var credentials: CredentialOptions

    @OptionGroup(title: "Credentials and cookies") var signing: SigningOptions

    @OptionGroup(title: "Credentials and cookies") var authorization: OAuthOptions

    @OptionGroup(title: "Trust and TLS") var tls: TLSOptions

    @OptionGroup(title: "Trust and TLS") var trust: TrustOptions

    @OptionGroup(title: "Trust and TLS") var pinning: PinOptions

    @OptionGroup(title: "Trust and TLS") var upgrades: UpgradeOptions

    @OptionGroup(title: "Proxies") var proxies: ProxyOptions

    @OptionGroup(title: "Addresses and names") var names: NameOptions

    @OptionGroup(title: "Cache") var caching: CacheOptions

    @OptionGroup(title: "What is shown, and other forms of the request") var tools: ToolOptions

    @OptionGroup(title: "What is shown, and other forms of the request") var recording: RecordingOptions

    func validate() throws {
        guard !target.isEmpty else { throw ValidationError("A URL is needed.") }
        guard method != "" else { throw ValidationError("--method cannot be empty.") }
        try headers.validate()
        if let name = commandTarget.method, method != nil {
            throw ValidationError("The method is given twice: '\(name)' and --method.")
        }
        if urls.count > 1 { try validateSeveralURLs() }
        try Self.require("--connect-timeout", limits.connectTimeout)
        try Self.require("--idle-timeout", limits.idleTimeout)
        try Self.requireDeadline(limits.deadline)
        try Self.require("--cancel-after", limits.cancelAfter)
        guard bodyOptions.count <= 1 else {
            throw ValidationError("There is one body: \(bodyOptions.joined(separator: " and ")) do not go together.")
        }
        try validateBody()
        guard standardInputCount <= 1 else { throw ValidationError("Standard input (@-) can be read once.") }
        guard !tools.showSecrets || tools.printsCURLCommand || recording.har != nil || tools.verbose || tools.swift
        else {
            throw ValidationError("--show-secrets goes with --curl, --swift, --har and --verbose.")
        }
        guard recording.har == nil || !tools.printsCURLCommand else {
            throw ValidationError("--har and --curl do not go together: nothing is sent.")
        }
        guard proxies.proxyUser == nil || proxies.proxy != nil else {
            throw ValidationError("--proxy-user goes with --proxy.")
        }
        if let failure = proxies.proxy?.with(proxies.proxyUser).failure { throw ValidationError("--proxy: \(failure)") }
        guard limits.retries ?? 0 >= 0 else { throw ValidationError("--retries cannot be negative.") }
        if let redirects = limits.redirects {
            guard redirects >= 0 else { throw ValidationError("--redirects cannot be negative.") }
            guard !limits.noRedirects else {
                throw ValidationError("--redirects and --no-redirects do not go together.")
            }
        }
        guard credentials.auth == nil || credentials.user != nil else {
            throw ValidationError("--auth goes with --user.")
        }
        try signing.validate(user: credentials.user, auth: credentials.auth)
        guard authorization.oauth == nil || credentials.user == nil else {
            throw ValidationError("--oauth and --user do not go together.")
        }
        try validateOutput()
        try validateHead()
        try pinning.requireTLS(of: urls, mayUpgrade: upgrades.hsts != nil)
        guard places.connections > 0 else { throw ValidationError("--connections must be 1 or more.") }
        if let maxBody = limits.maxBody, maxBody < 0 { throw ValidationError("--max-body cannot be negative.") }
        if let limit = streaming.limit {
            guard streaming.stream != nil else { throw ValidationError("--limit goes with --stream.") }
            guard limit > 0 else { throw ValidationError("--limit must be 1 or more.") }
        }
    }

    /// Checks that the options about a file are used with a file: other bodies are neither checked nor resumed.
    private func validateOutput() throws {
        guard places.output == nil || streaming.stream == nil else {
            throw ValidationError("--stream and --output do not go together.")
        }
        if case .file = place { return }
        let partner = places.output == nil ? "--output" : "--output to a file"
        guard !places.resume else { throw ValidationError("--resume goes with \(partner).") }
        guard places.checksum == nil else { throw ValidationError("--checksum goes with \(partner).") }
        guard places.connections == 1 else { throw ValidationError("--connections goes with \(partner).") }
    }

    /// Checks that no option about a single request is used with several URLs.
    private func validateSeveralURLs() throws {
        if let stray {
            throw ValidationError("'\(stray)' is no URL: the method, if any, comes first, and the URL follows.")
        }
        guard outputFolder != nil else {
            throw ValidationError("Several URLs go with --output FOLDER: a folder that is there, or ends with a slash.")
        }
        guard bodyOptions.isEmpty else {
            throw ValidationError("Several URLs and \(bodyOptions[0]) do not go together.")
        }
        guard places.checksum == nil else { throw ValidationError("Several URLs and --checksum do not go together.") }
        guard !tools.printsCURLCommand else { throw ValidationError("Several URLs and --curl do not go together.") }
    }
}

/// The argument of `--http`.
enum HTTPVersionOption: String, ExpressibleByArgument, CaseIterable {
    case auto
    case http1 = "1.1"
    /// HTTP/2 with curl's fallback.
    case http2 = "2"
    case http2Only = "2-only"
    case http2PriorKnowledge = "2-prior-knowledge"
    case http3 = "3"
    case http3Preferred = "3-preferred"

    /// The versions that the option allows.
    var policy: HTTPVersionPolicy {
        switch self {
        case .auto, .http2: .automatic
        case .http1: .http1Only
        case .http2Only: .http2
        case .http2PriorKnowledge: .http2PriorKnowledge
        case .http3: .http3Only
        case .http3Preferred: .http3Preferred
        }
    }

    /// Returns the versions for a URL. With TLS, prior knowledge is asked for in the handshake, as curl does it since 8.10.
    func policy(for url: String) -> HTTPVersionPolicy {
        self == .http2PriorKnowledge && url.hasScheme("https") ? .http2 : policy
    }
}

/// The argument of `--stream`.
enum StreamOption: String, ExpressibleByArgument, CaseIterable {
    case chunks, lines, sse, ndjson

    /// Whether the body is delivered as items, not as bytes.
    var hasItems: Bool { self != .chunks }
}

/// The argument of `--auth`.
enum AuthenticationOption: String, ExpressibleByArgument, CaseIterable {
    case basic, digest, bearer
    /// The better of Basic and Digest that the server asks for.
    case any
}

/// The argument of `--checksum`.
struct ChecksumArgument: Sendable {
    let checksum: Checksum

    init(_ argument: String) throws {
        guard let checksum = Checksum(argument) else {
            throw ValidationError("it is not sha256: with 64 hexadecimal digits, or sha512: with 128")
        }
        self.checksum = checksum
    }
}

/// The argument of `--proxy`.
struct ProxyArgument: ExpressibleByArgument {
    /// The argument as written.
    let text: String
    /// The proxy; `nil` for none.
    let proxy: Proxy?
    /// The reason why the argument names no proxy. The parser's own message would show the password in the argument.
    let failure: String?

    init?(argument: String) { self.init(argument) }

    init(_ argument: String, username: String? = nil, password: String? = nil) {
        text = argument
        do {
            let url = argument.contains("://") ? argument : "http://\(argument)"
            let proxy = argument.isEmpty ? nil : try Proxy(url, username: username, password: password)
            (self.proxy, failure) = (proxy, nil)
        } catch {
            (proxy, failure) = (nil, "\(error)")
        }
    }
}

/// The argument of `--report`.
enum ReportOption: String, ExpressibleByArgument, CaseIterable {
    case json
}
