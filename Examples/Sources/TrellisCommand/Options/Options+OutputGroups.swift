import ArgumentParser
import CURLSyntax
import Trellis

/// Where the response goes, and which one is good.
struct OutputOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .long],
        help: ArgumentHelp(
            "Write the body to this file, which appears, or is replaced, when it is whole: that of any status, also the page of "
                + "a 404, unless --validate or --fail is given. In a folder (FOLDER/) the file has the name that the server suggests, "
                + "and replaces none, and no page of an error is kept. Interrupted transfers are resumed.",
            valueName: "FILE|FOLDER"), completion: .file())
    var output: String?

    @Flag(help: "Resume an earlier --output to the same file.")
    var resume = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Fetch parts of the file over so many connections, where the server serves parts; 1 unless given.",
            valueName: "N"))
    var connections = 1

    @Option(
        help: ArgumentHelp(
            "The digest that the file is to have; with another one there is no file.",
            valueName: "sha256:HEX|sha512:HEX"),
        transform: ChecksumArgument.init)
    var checksum: ChecksumArgument?

    @Option(help: ArgumentHelp("Print one JSON object instead of the body.", valueName: "json"))
    var report: ReportOption?

    @Flag(
        name: .customLong("validate"),
        help: "Fail unless the status is 200 to 299 and the content type one that -H 'Accept: …' includes.")
    var validatesAnswer = false

    @Flag(help: "Do not ask for compressed bodies, and do not decode them.")
    var noDecompress = false

    @Flag(name: .shortAndLong, help: "Fail, without the body, if the status is 400 or more.")
    var fail = false

    @Flag(help: "Fail if the status is 400 or more, and print the body, or write it to the file of --output.")
    var failWithBody = false

    @Flag(help: "Make the folders of --output.")
    var createDirs = false

    @Flag(help: "With several URLs: end all transfers when the first of them fails.")
    var failEarly = false

    @Flag(name: [.customShort("R"), .long], help: "Give the file of --output the time of the server's Last-Modified.")
    var remoteTime = false

    @Option(
        name: [.customShort("z"), .customLong("time-cond")], parsing: .unconditional,
        help: ArgumentHelp(
            "Ask for what has changed since this date (UTC), or that of this file; -DATE: for what has not. A file of --output stays as it "
                + "is if nothing has changed.",
            valueName: "DATE|FILE"))
    var timeCondition: TimeCondition?

    @Option(
        help: ArgumentHelp("Write the heads of all responses to this file; - is standard output.", valueName: "FILE|-"),
        completion: .file())
    var dumpHeader: String?

    @Option(
        help: ArgumentHelp(
            "Print this text at the end, with values such as %{http_code}, %{time_total} and %{size_download}.",
            valueName: "TEXT|@FILE"))
    var writeOut: String?

    func validate() throws {
        guard !fail || !failWithBody else { throw ValidationError("--fail and --fail-with-body do not go together.") }
    }
}

/// What is shown beside the response, and what is done with the request instead of sending it once.
struct ToolOptions: ParsableArguments {
    @Flag(
        name: .customLong("curl"),
        help: "Print the curl command that sends the same request, and send nothing. Secrets are REDACTED in it.")
    var printsCURLCommand = false

    @Flag(help: "Leave the secrets in what --curl, --swift and --verbose print and --har records.")
    var showSecrets = false

    @Flag(
        name: .shortAndLong,
        help: "Show on standard error what goes over the wire: connections, request heads (>) and response heads (<).")
    var verbose = false

    @Flag(help: "Show on standard error where the time went.")
    var timing = false

    @Flag(name: .shortAndLong, help: "Show no progress, and no error unless --show-error is given.")
    var silent = false

    @Flag(name: [.customShort("S"), .long], help: "Show errors although --silent is given.")
    var showError = false

    @Option(
        help: ArgumentHelp("Write messages to this file; - is standard output.", valueName: "FILE|-"),
        completion: .file())
    var stderr: String?

    @Option(
        help: ArgumentHelp("Send the request N times, and print how long that took.", valueName: "N"))
    var `repeat`: Int?

    @Option(help: ArgumentHelp("With --repeat: so many requests at a time; 1 unless given.", valueName: "M"))
    var concurrency: Int?

    @Option(
        help: ArgumentHelp("Read the options of this curl command, as browsers copy it.", valueName: "COMMAND"))
    var fromCurl: String?

    @Flag(help: "Print the Swift code for the request, and send nothing. Secrets are REDACTED in it.")
    var swift = false

    func validate() throws {
        guard `repeat` ?? 1 > 0, concurrency ?? 1 > 0 else {
            throw ValidationError("--repeat and --concurrency must be 1 or more.")
        }
        guard concurrency == nil || `repeat` != nil else { throw ValidationError("--concurrency goes with --repeat.") }
    }
}

/// The argument of `--limit-rate`.
struct RateArgument: Sendable {
    let bytes: Int

    init(_ argument: String) throws {
        do { bytes = try ByteCount.bytes(argument, "--limit-rate") } catch { throw ValidationError("\(error)") }
        guard bytes > 0 else { throw ValidationError("it must be more than 0") }
    }
}

/// The argument of `--proto`.
struct SchemesArgument: Sendable {
    private(set) var schemes = known
    private static let known: Set<String> = ["http", "https"]

    init(_ argument: String) throws {
        for item in argument.utf8.split(separator: UInt8(ascii: ",")) {
            // The last mark counts, as in curl.
            let marks = item.prefix { "=+-".utf8.contains($0) }, mark = marks.last
            let name = Substring(item.dropFirst(marks.count)).lowercasedASCII()
            // A blank before a mark would hide it.
            guard name.utf8.first.map({ 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 }) ?? false else {
                throw ValidationError("'\(String(Substring(item)))' is no scheme behind =, + or -")
            }
            // curl knows more schemes, which are not used here.
            let names: Set<String> = name == "all" ? Self.known : Self.known.intersection([name])
            switch mark {
            case UInt8(ascii: "="): schemes = names
            case UInt8(ascii: "-"): schemes.subtract(names)
            default: schemes.formUnion(names)
            }
        }
        guard !schemes.isEmpty else { throw ValidationError("it leaves no scheme: http and https are known") }
    }
}

/// The refusal of each request and redirect whose scheme `--proto` does not name.
struct SchemeRequirement: RequestStep {
    let schemes: Set<String>

    func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
        guard schemes.contains(where: { request.url.hasScheme($0) }) else {
            let target = ShownRequest.url(request.url)
            throw RequestFailure("unsupported", "nothing was sent to \(target): --proto does not allow its scheme")
        }
        return try await next(request)
    }
}

extension ProxyArgument {
    /// Returns the argument with other credentials: `NAME:PASSWORD`.
    func with(_ credentials: String?) -> ProxyArgument {
        guard let credentials else { return self }
        let parts = credentials[...].cut(at: ":")
        return ProxyArgument(
            text, username: String(parts?.before ?? credentials[...]), password: String(parts?.after ?? ""))
    }
}
