#if Gateway
import ArgumentParser
import Gateway
import Glibc
import TerminalKit
import Trellis

/// The command `trellis gateway`: a reverse proxy in front of an origin.
struct GatewayCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "trellis gateway",
        abstract: "Passes requests to an origin, and stores its responses for all clients.",
        usage: "trellis gateway --listen HOST:PORT --origin URL [OPTION…]",
        discussion: """
            Every request goes to the origin with its method, path, query, fields and body, and every response comes back as it is: \
            nothing is followed, decoded or repeated, except that a request is sent again that an HTTP/2 origin has refused \
            unprocessed. The trailers of requests and of responses are passed on. Via, Age and Cache-Status are added, and the origin's \
            Alt-Svc is not passed on. Forwarded and X-Forwarded-For are passed on as the client has sent them: an origin must not believe \
            them. An origin that cannot be reached is a 502, and one that does not respond in time a 504; for a day after the end of its freshness, a stored response is used instead, unless it forbids that. \
            SIGTERM and SIGINT let the responses under way go on to their end.

              trellis gateway --listen 127.0.0.1:8080 --origin http://localhost:3000 --cache memory
            """)

    @Option(
        help: ArgumentHelp("The address to listen on; port 0: a free one.", valueName: "HOST:PORT"),
        transform: ListenAddress.init)
    var listen: ListenAddress

    @Option(
        help: ArgumentHelp("The scheme, host and port of the origin.", valueName: "URL"),
        transform: OriginArgument.init)
    var origin: OriginArgument

    @Option(
        help: ArgumentHelp(
            "The version for the origin. auto and 2: HTTP/2 where the origin offers it during the TLS handshake, else "
                + "HTTP/1.1. 2-only: HTTP/2 or an error.",
            valueName: "auto|1.1|2|2-only|2-prior-knowledge|3"))
    var http = HTTPVersionOption.auto

    @Option(
        help: ArgumentHelp(
            "Store responses in this folder, or in memory, as RFC 9111 allows it; nothing is stored unless given.",
            valueName: "DIR|memory"))
    var cache: String?

    @Flag(help: "The cache serves one user: it also stores what is private.")
    var `private` = false

    @Option(
        help: ArgumentHelp(
            "Fields that count in place of Cache-Control, the first one present first (RFC 9213).", valueName: "NAME,…"),
        transform: FieldNameList.init)
    var targeted: FieldNameList?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Seconds for a connection to the origin.", valueName: "S"))
    var connectTimeout: Double = 10

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Seconds without a byte from the origin.", valueName: "S"))
    var idleTimeout: Double = 60

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Seconds without a byte from a client that is to send, or to one that is to read; half of it for a head, at most 30.",
            valueName: "S"))
    var clientTimeout: Double = 60

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds for which a client's connection without a request is kept.", valueName: "S"))
    var keepAlive: Double = 75

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds for which responses go on after SIGTERM.", valueName: "S"))
    var drain: Double = 60

    @Option(help: ArgumentHelp("Trust the authorities in this PEM file, too.", valueName: "FILE"), completion: .file())
    var cacert: String?

    @Flag(
        help: """
            Print a line for each request on standard error: method, target, status, and the time until then. Secrets of the \
            query are REDACTED.
            """)
    var verbose = false

    func validate() throws {
        guard cache != "" else { throw ValidationError("--cache needs a folder, or memory.") }
        guard cache != nil || !`private` else { throw ValidationError("--private goes with --cache.") }
        guard cache != nil || targeted == nil else { throw ValidationError("--targeted goes with --cache.") }
        let times = [
            ("connect-timeout", connectTimeout), ("idle-timeout", idleTimeout), ("client-timeout", clientTimeout),
            ("keep-alive", keepAlive), ("drain", drain),
        ]
        for (name, value) in times {
            guard value > 0 else { throw ValidationError("--\(name) must be more than 0.") }
            guard value < 1e9 else { throw ValidationError("--\(name) \(value) is too long.") }
        }
    }

    func perform() async -> CInt {
        let storage = storage
        var settings = GatewaySettings(host: listen.host, port: listen.port, origin: origin.text)
        settings.originVersion = http.policy
        settings.cache = storage.map { storage in
            let policy = CachePolicy(
                sharing: `private` ? .private : .shared, targetedFieldNames: targeted?.names ?? [],
                maximumStaleness: Self.maximumStaleness)
            return HTTPCache(storage: storage, policy: policy)
        }
        settings.connectTimeout = .seconds(connectTimeout)
        settings.idleTimeout = .seconds(idleTimeout)
        settings.clientTimeout = .seconds(clientTimeout)
        settings.keepAliveTime = .seconds(keepAlive)
        settings.drainTime = .seconds(drain)
        settings.certificateAuthorityFile = cacert
        settings.maximumConnections = Self.raiseConnectionLimit()
        if verbose { settings.accessLog = { Terminal.error.print($0) } }
        let warning = (storage as? DiskCacheStorage).map { CacheWarning(directory: $0.directory) }
        if let warning { settings.eventMonitors.append(warning) }
        let host = listen.text
        do {
            try await Gateway(settings).run {
                Terminal.error.print("listening on \(host):\($0)")
                warning?.check()
            }
        } catch let failure as Gateway.ListenFailure {
            Terminal.error.print("trellis: cannot listen on \(host):\(listen.port): \(failure.reason)")
            return ExitStatus.failed
        } catch {
            Terminal.error.print("trellis: \(error)")
            return ExitStatus.failed
        }
        if let storage = storage as? DiskCacheStorage { await storage.close() }
        return ExitStatus.done
    }

    /// The time for which a stale response takes the place of an origin that cannot be reached: a day.
    private static let maximumStaleness: Duration = .seconds(86_400)

    private var storage: (any CacheStorage)? {
        guard let cache else { return nil }
        return cache == "memory" ? MemoryCacheStorage() : DiskCacheStorage(directory: cache)
    }

    /// Raises the limit on the process's descriptors to the largest that it may set, and returns the number of clients for which they
    /// suffice: each needs two, and the cache needs some.
    private static func raiseConnectionLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 256 }
        limit.rlim_cur = min(limit.rlim_max, 65_536)
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        _ = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return max(16, Int(clamping: limit.rlim_cur) / 2 - 100)
    }
}
#endif
