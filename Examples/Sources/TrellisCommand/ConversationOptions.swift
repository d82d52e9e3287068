import ArgumentParser
import FoundationEssentials
import Glibc
import Trellis

/// The command line of `trellis ws`. An unknown option is a usage error, and is never ignored.
struct ConversationOptions: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "ws",
        abstract:
            "Talks over a WebSocket: lines of standard input are messages, and messages are lines of standard output.",
        usage: "trellis ws URL [OPTION…]",
        discussion: """
            Ends when the server closes, with 0 for the codes 1000, 1001 and none, and otherwise with 1. Closes when standard \
            input has ended and, with --limit, as many messages have come, and on Ctrl-C.

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

    @Option(help: ArgumentHelp("Seconds of silence after which a ping is sent; 0: never.", valueName: "S"))
    var ping: Double = 20

    @Option(help: ArgumentHelp("Fail if a message is larger.", valueName: "BYTES"))
    var maxMessage: Int = WebSocketOptions().maximumMessageSize

    @Option(help: ArgumentHelp("A subprotocol to offer; repeatable, in order of preference.", valueName: "NAME"))
    var subprotocol: [String] = []

    @Flag(help: "Do not offer compression.")
    var noCompression = false

    @Option(help: ArgumentHelp("Close after so many messages.", valueName: "N"))
    var limit: Int?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("A header field of the handshake; repeatable.", valueName: "Name: value"))
    var headers: [HeaderLine] = []

    @Option(help: ArgumentHelp("Seconds for everything; no limit unless given.", valueName: "S"))
    var deadline: Double?

    @Option(help: ArgumentHelp("Trust the authorities in this PEM file, too.", valueName: "FILE"))
    var cacert: String?

    @Flag(help: "Do not verify the server: anyone on the way can read and change everything.")
    var insecure = false

    @OptionGroup var pinning: PinOptions

    @OptionGroup var trust: TrustOptions

    @Option(
        help: ArgumentHelp(
            "Keep the hosts that ask for https in this file, in the format of curl, and use wss for their ws URLs.",
            valueName: "FILE"))
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
        // Limited to about ten thousand years, so that every number of seconds is a valid Duration.
        guard (0..<3e11).contains(ping), deadline.map({ $0 > 0 && $0 < 3e11 }) ?? true else {
            throw ValidationError("--ping is 0 or more seconds, and --deadline more than 0.")
        }
        guard !headers.contains(where: { (try? $0.field()) == nil }) else {
            throw ValidationError("A header field cannot be sent.")
        }
        if let failure = proxy?.failure { throw ValidationError(failure) }
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
        configuration.resolver = names.resolver(trust, cacert: cacert)
        configuration.proxy = Options.proxyConfiguration(proxy, noProxy)
        configuration.hsts = hsts
        try pinning.apply(to: &configuration, isInsecure: insecure)
        return configuration
    }

    /// The settings of the connection that the options describe.
    var webSocketOptions: WebSocketOptions {
        var options = WebSocketOptions(
            subprotocols: subprotocol, maximumMessageSize: maxMessage, pingInterval: ping > 0 ? .seconds(ping) : nil,
            // Less than the time that Ctrl-C leaves.
            closeTimeout: .seconds(1))
        if noCompression { options.compression = nil }
        return options
    }

    /// The fields of the handshake.
    var fields: HTTPFields { HTTPFields(headers.compactMap { try? $0.field() }) }
}
