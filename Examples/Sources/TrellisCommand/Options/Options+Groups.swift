import ArgumentParser
import CURLSyntax
import Trellis

/// The options about the body and the query.
struct BodyOptions: ParsableArguments {
    @Option(
        name: [.customShort("d"), .long], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "The raw body: POST unless a method is given. A file or standard input (@-) is streamed as it is; several texts are joined "
                + "by &. The type is that of a form (application/x-www-form-urlencoded) unless -H gives one. Without a body, a pipe "
                + "or a file on standard input is that of a POST, PUT or PATCH, and has no type.",
            valueName: "STRING|@FILE|@-"))
    var data: [BodyArgument] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "A JSON body, sent as it is: Content-Type and Accept say so unless -H does.",
            valueName: "STRING|@FILE|@-"))
    var json: BodyArgument?

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("A field of a URL-encoded form, the body; repeatable.", valueName: "NAME=VALUE"),
        transform: NamedValue.init)
    var form: [NamedValue] = []

    @Option(
        name: .customLong("part"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "A part of a form, the body (multipart/form-data): a value, or a file, whose type and name follow from "
                + "FILE unless they are given; repeatable.",
            valueName: "NAME=VALUE|NAME=@FILE[;type=MIME][;filename=NAME]"),
        transform: PartArgument.init)
    var parts: [PartArgument] = []

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("One more item for the query of the URL; repeatable.", valueName: "NAME=VALUE"),
        transform: QueryArgument.init)
    var query: [QueryArgument] = []

    @Flag(help: "Send the body compressed with gzip: for servers that are known to take that.")
    var compress = false

    @Flag(help: "Leave standard input alone: a POST, PUT or PATCH without a body has none.")
    var noStdin = false

    @Flag(help: "Send the texts of --data in the query of the URL: GET unless a method is given.")
    var get = false

    @Option(
        help: ArgumentHelp("Send this file as the body, with PUT unless a method is given.", valueName: "FILE|-"),
        completion: .file())
    var uploadFile: String?
}

/// The limits of a request, and what follows a failure or a redirect.
struct LimitOptions: ParsableArguments {
    @Option(
        parsing: .unconditional, help: ArgumentHelp("Seconds for name, TCP and TLS; 0: no limit.", valueName: "S"))
    var connectTimeout: Double = 10

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds without a byte in either direction; 0: no limit.", valueName: "S"))
    var idleTimeout: Double = 60

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds for everything, more than 0; no limit unless given.", valueName: "S"))
    var deadline: Double?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Fail if the decoded body is larger.", valueName: "BYTES"))
    var maxBody: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Retry transient failures up to N times, with backoff, where the request may be repeated. With --output also the "
                + "number of resumptions of an interrupted file, by default as many as bring bytes; 0: none.",
            valueName: "N"))
    var retries: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Follow up to N redirects, 20 unless given; 0: a redirect is a failure.", valueName: "N"))
    var redirects: Int?

    @Flag(help: "Do not follow redirects.")
    var noRedirects = false

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Cancel the task that runs the request.", valueName: "S"))
    var cancelAfter: Double?

    @Option(
        help: ArgumentHelp("With --retries: the longest wait before each of them, in seconds.", valueName: "S"))
    var retryDelay: Double?

    @Flag(help: "With --retries: after any failure, also that of a POST. With --fail, a status of 400 or more is one.")
    var retryAllErrors = false

    @Option(
        help: ArgumentHelp("The largest speed of bodies in bytes per second, such as 200K.", valueName: "SPEED"),
        transform: RateArgument.init)
    var limitRate: RateArgument?

    func validate() throws { try Options.require("--retry-delay", retryDelay) }
}

/// Who sends the request.
struct CredentialOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Credentials for the server, sent to its origin alone. A terminal is asked for a missing password. With --auth bearer: "
                + "the token.",
            valueName: "NAME:PASSWORD"))
    var user: String?

    @Option(
        help: ArgumentHelp(
            "The authentication scheme for --user; basic by default.", valueName: "basic|digest|bearer|any"))
    var auth: AuthenticationOption?

    @Option(
        help: ArgumentHelp(
            "Read and keep cookies in this file, in the format of curl and Netscape; -: print them at the end.",
            valueName: "FILE|-"),
        completion: .file())
    var cookieJar: String?

    @Option(
        help: ArgumentHelp(
            "Read cookies from this file, and do not change it; '' for none, but those of redirects.", valueName: "FILE"
        ), completion: .file())
    var cookieFile: String?

    @Flag(help: "Take names and passwords from the file .netrc in the home folder.")
    var netrc = false

    @Option(help: ArgumentHelp("Take names and passwords from this file.", valueName: "FILE"), completion: .file())
    var netrcFile: String?
}

/// Whom the request trusts.
struct TLSOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The schemes that may be used, also by redirects: '=https' for that one alone, or names to add (+) and to take away (-) "
                + "from http and https.",
            valueName: "SCHEMES"),
        transform: SchemesArgument.init)
    var proto: SchemesArgument?

    @Option(help: ArgumentHelp("Trust the authorities in this PEM file, too.", valueName: "FILE"), completion: .file())
    var cacert: String?

    @Flag(help: "Do not verify the server: anyone on the way can read and change everything.")
    var insecure = false
}

/// The way to the server.
struct ProxyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The proxy of all requests: http, https, socks4, socks4a, socks5 or socks5h, with user:password@ if it asks for them; '' "
                + "for none. Without this option, the variables http_proxy, https_proxy and all_proxy name it.",
            valueName: "URL"))
    var proxy: ProxyArgument?

    @Option(
        help: ArgumentHelp(
            "The hosts that are reached without a proxy, in place of the variable no_proxy: example.com,10.0.0.0/8,*.test,host:8443",
            valueName: "LIST"))
    var noProxy: String?

    @Option(help: ArgumentHelp("The credentials for --proxy.", valueName: "NAME:PASSWORD"))
    var proxyUser: String?
}

/// Bodies that are printed as they arrive.
struct StreamOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Print items as they arrive. sse: each event as a JSON object on a line of its own; the stream is opened again "
                + "whenever it ends, until --limit or a 204. ndjson: each line that holds a JSON value.",
            valueName: "chunks|lines|sse|ndjson"))
    var stream: StreamOption?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Stop after so many items of --stream.", valueName: "N"))
    var limit: Int?
}
