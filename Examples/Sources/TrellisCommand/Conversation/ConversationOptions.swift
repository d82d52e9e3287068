import ArgumentParser
import FoundationEssentials
import Glibc
import Trellis

/// The command line of `trellis ws`. An unknown option is a usage error, and is never ignored.
struct ConversationOptions: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "trellis ws",
        abstract:
            "Talks over a WebSocket: lines of standard input are messages, and messages are lines of standard output.",
        usage: "trellis ws URL [OPTION…]",
        discussion: """
            On a terminal, what you type is behind >, and messages appear above it behind <; Ctrl-D ends. \
            Ends when the server closes. Closes when standard input has ended and, with --limit, as many messages have come, and on \
            Ctrl-C. The server then has 10 seconds, or those of --deadline, to complete its messages and the closing handshake, and \
            after Ctrl-C one second. Ends with 0 if the server's Close frame has the code 1000, 1001 or none, also where it comes \
            after that of this side, and otherwise with 1: after another code, a message that breaks the protocol, or no Close frame.

              trellis ws wss://example.com/news --limit 10
              echo '{"subscribe": "news"}' | trellis ws wss://example.com/feed --subprotocol feed.v2 --limit 1
            """)

    @Argument(help: ArgumentHelp("The URL: wss, ws, https or http.", valueName: "URL"))
    var url: String

    @Flag(help: "Send and print text, which is the default; a message of bytes is printed as Base64.")
    var text = false

    @Flag(help: "Lines are Base64: they are sent as bytes, and every message is printed so.")
    var binary = false

    @Flag(help: "Send every message back as it came; standard input is not read.")
    var echo = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds of silence after which a ping is sent; 0: never.", valueName: "S"))
    var ping: Double = 20

    @Option(parsing: .unconditional, help: ArgumentHelp("Fail if a message is larger.", valueName: "BYTES"))
    var maxMessage: Int = WebSocketOptions().maximumMessageSize

    @Option(help: ArgumentHelp("A subprotocol to offer; repeatable, in order of preference.", valueName: "NAME"))
    var subprotocol: [String] = []

    @Flag(help: "Do not offer compression.")
    var noCompression = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Print so many messages, and close when they have come and standard input has ended.", valueName: "N"))
    var limit: Int?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("A header field of the handshake; repeatable.", valueName: "Name: value"),
        transform: HeaderLine.init)
    var headers: [HeaderLine] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds for everything, more than 0; no limit unless given.", valueName: "S"))
    var deadline: Double?

    @Option(help: ArgumentHelp("Trust the authorities in this PEM file, too.", valueName: "FILE"), completion: .file())
    var cacert: String?

    @Flag(help: "Do not verify the server: anyone on the way can read and change everything.")
    var insecure = false

    @OptionGroup var pinning: PinOptions

    @OptionGroup var trust: TrustOptions

    @Option(
        help: ArgumentHelp(
            "Keep the hosts that ask for https in this file, in the format of curl, and use wss for their ws URLs.",
            valueName: "FILE"), completion: .file())
    var hsts: String?

    @Option(
        help: ArgumentHelp("The proxy; '' for none. The environment's applies unless given.", valueName: "URL"))
    var proxy: ProxyArgument?

    @Option(help: ArgumentHelp("The hosts for which no proxy is used.", valueName: "LIST"))
    var noProxy: String?

    @OptionGroup var names: NameOptions

    @Option(help: ArgumentHelp("Print one JSON object instead of the messages.", valueName: "json"))
    var report: ReportOption?

    func validate() throws {
        guard !text || !binary else { throw ValidationError("--text and --binary do not go together.") }
        guard limit.map({ $0 > 0 }) ?? true else { throw ValidationError("--limit is 1 or more.") }
        guard maxMessage > 0 else { throw ValidationError("--max-message is 1 or more.") }
        try Options.require("--ping", ping)
        try Options.requireDeadline(deadline)
        try headers.validate()
        for header in headers where !header.isRemoval {
            do { _ = try header.field() } catch let failure as RequestFailure {
                throw ValidationError("-H: \(failure.message)")
            }
        }
        try pinning.requireTLS(of: [url], mayUpgrade: hsts != nil)
        if let failure = proxy?.failure { throw ValidationError("--proxy: \(failure)") }
    }

    func perform() async -> CInt { await Conversation.run(self, Interruption()) }

    /// Returns the configuration of connections that the options describe.
    ///
    /// - Throws: `TrellisError` if the process cannot compute pins.
    func sessionConfiguration(_ hsts: HSTSStore?) throws -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.tls =
            insecure
            ? .insecureWithoutAnyVerification() : TLSConfiguration(additionalCertificateAuthorityFile: cacert)
        trust.apply(to: &configuration.tls)
        configuration.route = names.route
        configuration.egress = names.egressPolicy
        configuration.proxy = Options.proxyConfiguration(proxy, noProxy)
        configuration.resolver = names.resolver(trust, cacert: cacert, proxy: configuration.proxy)
        configuration.hsts = hsts
        try pinning.apply(to: &configuration, isInsecure: insecure)
        return configuration
    }

    /// The settings of the connection that the options describe.
    var webSocketOptions: WebSocketOptions {
        var options = WebSocketOptions(
            subprotocols: subprotocol, maximumMessageSize: maxMessage, pingInterval: ping > 0 ? .seconds(ping) : nil,
            closeTimeout: deadline.map { .seconds($0) } ?? WebSocketOptions().closeTimeout)
        if noCompression { options.compression = nil }
        return options
    }

    /// The fields of the handshake.
    var fields: HTTPFields { HTTPFields(headers.filter { !$0.isRemoval }.compactMap { try? $0.field() }) }
}
