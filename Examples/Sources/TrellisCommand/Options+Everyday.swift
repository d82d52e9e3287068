import ArgumentParser
import CURLSyntax
import Trellis

/// The everyday options that have curl's names and meanings.
struct EverydayOptions: ParsableArguments {
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

    @Flag(name: .shortAndLong, help: "Fail, without the body, if the status is 400 or more.")
    var fail = false

    @Flag(help: "Fail if the status is 400 or more, and print the body.")
    var failWithBody = false

    @Flag(help: "Print the Swift code for the request, and send nothing. Secrets are REDACTED in it.")
    var swift = false

    @Option(
        help: ArgumentHelp("Read the options of this curl command, as browsers copy it.", valueName: "COMMAND"))
    var fromCurl: String?

    @Flag(help: "Send the texts of --data in the query of the URL: GET unless a method is given.")
    var get = false

    @Option(
        help: ArgumentHelp("Send this file as the body, with PUT unless a method is given.", valueName: "FILE|-"))
    var uploadFile: String?

    @Option(
        help: ArgumentHelp(
            "Print this text at the end, with values such as %{http_code}, %{time_total} and %{size_download}.",
            valueName: "TEXT|@FILE"))
    var writeOut: String?

    @Option(
        help: ArgumentHelp("Write the heads of all responses to this file; - is standard output.", valueName: "FILE|-"))
    var dumpHeader: String?

    @Flag(help: "Make the folders of --output.")
    var createDirs = false

    @Option(
        help: ArgumentHelp("The largest speed of bodies in bytes per second, such as 200K.", valueName: "SPEED"),
        transform: RateArgument.init)
    var limitRate: RateArgument?

    @Option(
        help: ArgumentHelp("With --retries: the longest wait before each of them, in seconds.", valueName: "S"))
    var retryDelay: Double?

    @Option(help: ArgumentHelp("Read cookies from this file, and do not change it.", valueName: "FILE"))
    var cookieFile: String?

    @Flag(help: "Take names and passwords from the file .netrc in the home folder.")
    var netrc = false

    @Option(help: ArgumentHelp("Take names and passwords from this file.", valueName: "FILE"))
    var netrcFile: String?

    @Option(help: ArgumentHelp("The credentials for --proxy.", valueName: "NAME:PASSWORD"))
    var proxyUser: String?

    @Option(
        help: ArgumentHelp("Send the request N times, and print how long that took.", valueName: "N"))
    var `repeat`: Int?

    @Option(help: ArgumentHelp("With --repeat: so many requests at a time; 1 unless given.", valueName: "M"))
    var concurrency: Int?

    func validate() throws {
        guard !fail || !failWithBody else { throw ValidationError("--fail and --fail-with-body do not go together.") }
        guard `repeat` ?? 1 > 0, concurrency ?? 1 > 0 else {
            throw ValidationError("--repeat and --concurrency must be 1 or more.")
        }
        guard concurrency == nil || `repeat` != nil else { throw ValidationError("--concurrency goes with --repeat.") }
        try Options.require("--retry-delay", retryDelay)
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

extension ProxyArgument {
    /// Returns the argument with other credentials: `NAME:PASSWORD`.
    func with(_ credentials: String?) -> ProxyArgument {
        guard let credentials else { return self }
        let parts = credentials[...].cut(at: ":")
        return ProxyArgument(
            text, username: String(parts?.before ?? credentials[...]), password: String(parts?.after ?? ""))
    }
}
