/// What an option of the command line means.
enum OptionMeaning: Sendable {
    /// The tool's option of this name. It takes a value if the table says so.
    case own(String)
    /// Nothing: the tool does so without being asked.
    case usual
    /// Other arguments. The value, if the option takes one, is in them already.
    case means(@Sendable (String) throws -> [String])
    /// A value that counts at the end, when all arguments are known.
    case kept(KeptOption)
}

/// The options whose meaning depends on others.
enum KeptOption: Sendable {
    case output, remoteName, remoteHeaderName, outputFolder, cookie, configuration, command, speedTime, speedLimit
}

/// An option with its names, such as `-k` and `--insecure`.
struct CommandOption: Sendable {
    let names: [String]
    let takesValue: Bool
    let meaning: OptionMeaning
}

/// The table of all options of a request: the tool's and curl's.
enum OptionTable {
    /// Returns the option with this name, if any.
    static func option(_ name: String) -> CommandOption? { byName[name] }

    /// All names that begin with two dashes.
    static let longNames = options.flatMap(\.names).filter { $0.utf8.starts(with: "--".utf8) }

    private static let byName = Dictionary(
        options.flatMap { option in option.names.map { ($0, option) } }, uniquingKeysWith: { first, _ in first })

    static let options = own + renamed + usual + translated + kept

    // MARK: The tool's options

    /// The options that keep their meaning.
    private static let own: [CommandOption] =
        flags(
            "-i --include", "-I --head", "--compress", "--no-redirects", "--no-decompress", "--insecure", "--validate",
            "--resume", "--curl", "--show-secrets", "--tlsv1.3", "--show-certificates", "-4 --ipv4", "-6 --ipv6",
            "-v --verbose", "-s --silent", "-S --show-error", "-f --fail", "--fail-with-body", "--get", "--no-stdin",
            "--path-as-is", "--netrc", "--retry-all-errors", "--fail-early", "-R --remote-time", "--create-dirs",
            "--timing", "--swift", "--version", "--help", "--help-hidden", "--experimental-dump-help")
        + values(
            "-X --method", "-d --data", "--json", "--form", "--part", "--query", "--http",
            "--connect-timeout", "--idle-timeout", "--deadline", "--retries", "--retry-delay", "--redirects", "--user",
            "--oauth", "--oauth-issuer", "--oauth-token-url",
            "--oauth-client-id", "--oauth-client-secret-file", "--oauth-scope", "--oauth-token-file",
            "--auth", "--aws-sigv4", "--sign", "--cookie-jar", "--cookie-file", "--cache", "--cache-mode", "--max-body",
            "--cacert", "--cert",
            "--key", "--pass", "--pin", "--proxy", "--proxy-user", "--no-proxy", "--unix-socket",
            "--abstract-unix-socket", "--resolve", "--connect-to", "--interface", "--doh", "--doh-except", "--egress",
            "--egress-allow", "--hsts", "--alt-svc",
            "--stream", "--limit", "--connections", "--checksum", "--cancel-after", "--report", "--har",
            "--upload-file", "--netrc-file", "--proto", "--stderr", "--dump-header", "--write-out", "--limit-rate",
            "-z --time-cond", "--repeat", "--concurrency", "--generate-completion-script")

    /// The options of curl that have another name here.
    private static let renamed: [CommandOption] =
        flags(
            "-k --insecure", "-G --get", "-n --netrc", "-V --version", "-h --help", "-M --manual --help",
            "--show-headers --include", "--netrc-optional --netrc")
        + values(
            "--request --method", "-u --user", "-c --cookie-jar", "-x --proxy", "-U --proxy-user",
            "-E --cert", "-T --upload-file", "-D --dump-header", "-w --write-out", "--retry --retries",
            "--noproxy --no-proxy", "--doh-url --doh", "--data-binary --data", "--data-ascii --data",
            "--pinnedpubkey --pin")

    /// Options without a value, a row each. The last name is the tool's; the others mean the same.
    private static func flags(_ names: String...) -> [CommandOption] { options(names, takingValue: false) }

    /// Options with a value, a row each. The last name is the tool's; the others mean the same.
    private static func values(_ names: String...) -> [CommandOption] { options(names, takingValue: true) }

    private static func options(_ rows: [String], takingValue takesValue: Bool) -> [CommandOption] {
        rows.map { row in
            let names = row.split(separator: " ").map(String.init)
            return CommandOption(names: names, takesValue: takesValue, meaning: .own(names[names.count - 1]))
        }
    }

    // MARK: curl's options

    /// The options of curl for what the tool does without being asked.
    private static let usual: [CommandOption] =
        [
            "-L --location", "-N --no-buffer", "-# --progress-bar", "-g --globoff", "-Z --parallel", "-q --disable",
            "--compressed", "--tlsv1 --tlsv1.0 --tlsv1.1 --tlsv1.2", "--tcp-nodelay",
            "--remove-on-error", "--retry-connrefused", "--no-npn", "--styled-output",
        ].map { row in
            CommandOption(names: row.split(separator: " ").map(String.init), takesValue: false, meaning: .usual)
        } + [CommandOption(names: ["--parallel-max"], takesValue: true, meaning: .usual)]

    private static func meaning(
        _ names: String, _ takesValue: Bool = true, _ arguments: @escaping @Sendable (String) throws -> [String]
    ) -> CommandOption {
        CommandOption(
            names: names.split(separator: " ").map(String.init), takesValue: takesValue, meaning: .means(arguments))
    }

    /// The options of curl that become others here.
    private static let translated: [CommandOption] = [
        meaning("-H --header") { line in
            guard line.utf8.first == UInt8(ascii: "@") else { return ["--header=\(line)"] }
            return try FormText.lines(of: String(line.dropFirst())).map { "--header=\($0)" }
        },
        meaning("-0 --http1.0 --http1.1", false) { _ in ["--http=1.1"] },
        meaning("--http2", false) { _ in ["--http=2"] },
        meaning("--http2-prior-knowledge", false) { _ in ["--http=2-prior-knowledge"] },
        meaning("--http3", false) { _ in ["--http=3-preferred"] },
        meaning("--http3-only", false) { _ in ["--http=3"] },
        meaning("--basic", false) { _ in ["--auth=basic"] },
        meaning("--digest", false) { _ in ["--auth=digest"] },
        meaning("--anyauth", false) { _ in ["--auth=any"] },
        meaning("--no-location", false) { _ in ["--no-redirects"] },
        meaning("--no-progress-meter", false) { _ in ["--silent", "--show-error"] },
        meaning("--oauth2-bearer") { ["--auth=bearer", "--user=\($0)"] },
        meaning("-A --user-agent") { ["--header=User-Agent: \($0)"] },
        meaning("-e --referer") { ["--header=Referer: \($0[...].dropping(suffix: ";auto"))"] },
        meaning("-r --range") { ["--header=Range: bytes=\($0)"] },
        meaning("-m --max-time") { Double($0) == 0 ? [] : ["--deadline=\($0)"] },
        meaning("--url-query") { text in
            let isEncoded = text.utf8.first == UInt8(ascii: "+")
            return ["--query=\(Marker.literal)\(isEncoded ? String(text.dropFirst()) : try FormText.urlencoded(text))"]
        },
        meaning("--max-redirs") { ["--redirects=\($0 == "-1" ? "1000000" : $0)"] },
        meaning("--max-filesize") { ["--max-body=\(try ByteCount.bytes($0, "--max-filesize"))"] },
        meaning("--url") { [Marker.positional + $0] },
        meaning("--data-raw") { ["--data=\(Marker.literal)\($0)"] },
        meaning("--data-urlencode") { ["--data=\(Marker.literal)\(try FormText.urlencoded($0))"] },
        meaning("-F --form-multipart") { ["--part=\(try FormText.part($0))"] },
        meaning("--form-string") { ["--part=\(Marker.literal)\($0)"] },
        meaning("--socks4") { ["--proxy=socks4://\($0)"] },
        meaning("--socks4a") { ["--proxy=socks4a://\($0)"] },
        meaning("--socks5") { ["--proxy=socks5://\($0)"] },
        meaning("--socks5-hostname") { ["--proxy=socks5h://\($0)"] },
        meaning("-C --continue-at") { offset in
            guard offset == "-" else {
                throw UsageFailure("-C takes a '-' here: where an earlier transfer has ended is found out")
            }
            return ["--resume"]
        },
    ]

    /// The options that are decided at the end.
    private static let kept: [CommandOption] = [
        CommandOption(names: ["-o", "--output"], takesValue: true, meaning: .kept(.output)),
        CommandOption(
            names: ["-O", "--remote-name", "--remote-name-all"], takesValue: false, meaning: .kept(.remoteName)),
        CommandOption(names: ["-J", "--remote-header-name"], takesValue: false, meaning: .kept(.remoteHeaderName)),
        CommandOption(names: ["--output-dir"], takesValue: true, meaning: .kept(.outputFolder)),
        CommandOption(names: ["-b", "--cookie"], takesValue: true, meaning: .kept(.cookie)),
        CommandOption(names: ["-y", "--speed-time"], takesValue: true, meaning: .kept(.speedTime)),
        CommandOption(names: ["-Y", "--speed-limit"], takesValue: true, meaning: .kept(.speedLimit)),
        CommandOption(names: ["--from-curl"], takesValue: true, meaning: .kept(.command)),
        CommandOption(names: ["-K", "--config"], takesValue: true, meaning: .kept(.configuration)),
    ]
}

/// Bytes at the beginning of a translated value. No argument of a process contains them.
public enum Marker {
    /// The rest of the value is text, also if it begins with `@`.
    public static let literal = "\u{0}"
    /// The rest of a part has a type or a file name at its end.
    public static let typed = "\u{0}\u{0}"
    /// The rest is no option, but a URL.
    static let positional = "\u{0}"
}

/// The reason why arguments cannot be understood, as a sentence.
public struct UsageFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    /// Creates a failure with its reason.
    public init(_ description: String) { self.description = description }
}
