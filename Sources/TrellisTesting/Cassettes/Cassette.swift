import CurlEngine
public import TrellisCore
import TrellisDiagnostics

/// A file with recorded requests and their responses, which tests replay without a network.
///
/// ```swift
/// let session = Session(transport: CassetteTransport(Cassette("users")))
/// #expect(try await session.string("https://api.example.com/users/7").contains("Ada"))
/// ```
///
/// The file is `Cassettes/users.har` beside the file of the test. It is recorded by running the test with an environment variable:
/// `TRELLIS_CASSETTES=once swift test --filter UsersTests`. After that, nothing reaches the network.
///
/// The file is a HAR document (``/Trellis/HARDocument``), which browsers open, with a section `_trellis` in each entry. A document that a
/// browser has saved can be replayed, too. Secrets are removed by the ``scrubbers`` before anything is written, also from heads of 1xx,
/// trailers and the words of failures, and from each request before it is compared, so that what was scrubbed is found again.
public struct Cassette: Sendable {
    /// The path of the file.
    public let path: String
    /// How the cassette is used. The default is ``CassetteMode/environment``; a mode that is given has precedence over the
    /// environment variable.
    public var mode: CassetteMode { didSet { hasOwnMode = true } }
    /// Whether the mode was given, so that the environment variable has no effect.
    private var hasOwnMode: Bool
    /// The parts of a request that identify its recording. The default is the method and the URL.
    public var matching = CassetteMatching()
    /// The changes of requests and responses before they are written, and of requests before they are compared, in this order. The default
    /// removes what is known to be a secret (``Scrubber/secrets``).
    public var scrubbers: [Scrubber] = [.secrets]
    /// Whether every credential in use is removed from the whole recording, wherever it stands. These are the values in `Authorization`
    /// (with the password of `Basic`), in other secret fields, cookies and secret query items, and the values that responses set in secret
    /// fields and cookies. Plain, JSON-escaped and percent-encoded forms are found, in exchanges before and after the use, and
    /// ``CassetteTransport/finish()`` fails if one is left in the file. Values of fewer than eight bytes are removed from their fields
    /// only.
    ///
    /// A replay does not know which values become credentials later. If the URL of a request has the value of a cookie that a later
    /// response sets, such as a user's name, its recording is found only with a ``Scrubber/text(_:replacement:)`` for the value.
    ///
    /// The default is `true`. Set it to `false` if a cookie's harmless value, such as a language, must stay in bodies.
    public var scrubsUsedCredentials = true
    /// Whether a recording that was used answers further requests that match it. The default is `false`: each recording is used
    /// once, in the order of the file.
    public var allowsRepeats = false
    /// Whether a test may leave recordings unused. The default is `true`. If it is `false`, ``withTransport(_:_:)-(Transport,_)``
    /// and the trait `.trellis(…)` of `TrellisTestTraits` make the recordings that were not replayed failures of the test.
    public var allowsUnused = true
    /// The configuration of the session that sends requests when they are recorded: TLS, routes, proxies and versions. Everything that the
    /// session under test does itself is not taken from it: steps, cookies, redirects, decoding, limits on time and default fields.
    public var upstream = SessionConfiguration()
    /// The clock of a replay, which waits as long as the response took when it was recorded; `nil`, the default, if it does not wait. The
    /// chunks of a body are those that were recorded in any case.
    public var clock: (any Clock<Duration>)?
    /// The name of the tests that use the cassette, for messages; `nil` if not known.
    let testName: String?

    /// Creates a cassette beside the file of a test: `Cassettes/NAME.har` in the same folder. Its mode is ``CassetteMode/environment``.
    ///
    /// - Parameters:
    ///   - name: The name of the cassette, which may contain slashes, with or without `.har`.
    ///   - filePath: The path of the test's source file.
    public init(_ name: String, filePath: String = #filePath) {
        self.init(Self.path(of: name, beside: filePath), ownMode: nil, filePath: filePath)
    }

    /// Creates a cassette beside the file of a test, with its own mode.
    ///
    /// - Parameters:
    ///   - name: The name of the cassette, which may contain slashes, with or without `.har`.
    ///   - mode: How the cassette is used.
    ///   - filePath: The path of the test's source file.
    public init(_ name: String, mode: CassetteMode, filePath: String = #filePath) {
        self.init(Self.path(of: name, beside: filePath), ownMode: mode, filePath: filePath)
    }

    /// Creates a cassette at a path. Its mode is ``CassetteMode/environment``.
    ///
    /// - Parameters:
    ///   - path: The path of the file, absolute or relative to the current directory of the process.
    ///   - filePath: The path of the test's source file, whose name stands for the tests in messages.
    public init(path: some FilePathConvertible, filePath: String = #filePath) {
        self.init(path.filePath, ownMode: nil, filePath: filePath)
    }

    /// Creates a cassette at a path, with its own mode.
    ///
    /// - Parameters:
    ///   - path: The path of the file, absolute or relative to the current directory of the process.
    ///   - mode: How the cassette is used.
    ///   - filePath: The path of the test's source file, whose name stands for the tests in messages.
    public init(path: some FilePathConvertible, mode: CassetteMode, filePath: String = #filePath) {
        self.init(path.filePath, ownMode: mode, filePath: filePath)
    }

    private init(_ path: String, ownMode: CassetteMode?, filePath: String) {
        self.path = path
        mode = ownMode ?? CassetteMode.environment
        hasOwnMode = ownMode != nil
        let file = String(filePath.lastPathComponent)
        // The name of an extension's file begins with the tests' name, and a `+` is an operator of the command's regular expression.
        let name = file.hasByteSuffix(".swift") ? String(file.dropLast(6).prefix(beforeBytes: "+")) : ""
        testName = name.isEmpty ? nil : name
    }

    private static func path(of name: String, beside filePath: String) -> String {
        "\(FileSystem.folder(of: filePath))/Cassettes/\(name)\(name.hasByteSuffix(".har") ? "" : ".har")"
    }

    /// The command that records the cassette in a mode, and what must be done before.
    func command(_ mode: CassetteMode) -> String {
        let variable = CassetteMode.variable
        let command = "\(variable)=\(mode) swift test\(testName.map { " --filter \($0)" } ?? "")"
        guard hasOwnMode else { return command }
        return "\(command)\n(first remove the mode of the cassette from the test: \(variable) has no effect beside it)"
    }
}

extension Cassette {
    /// Returns a request without what the scrubbers remove.
    func scrubbed(_ request: HARDocument.Request) -> HARDocument.Request {
        var request = request
        for scrubber in scrubbers { scrubber.scrub(&request) }
        request.derive()
        return request
    }

    /// Returns a response without what the scrubbers remove.
    func scrubbed(_ response: HARDocument.Response) -> HARDocument.Response {
        var response = response
        for scrubber in scrubbers { scrubber.scrub(&response) }
        response.derive()
        return response
    }

    /// Returns the fields of an informational head, or of trailers, without what the scrubbers remove: to them, the fields belong to a
    /// response.
    func scrubbed(_ fields: [HARDocument.Field], status: Int) -> [HARDocument.Field] {
        scrubbed(HARDocument.Response(status: status, headers: fields)).headers
    }

    /// Returns the words of a failure without what the scrubbers remove: to them, the words are a body of plain text.
    func scrubbed(_ words: String) -> String {
        var response = HARDocument.Response(headers: [HARDocument.Field(name: "Content-Type", value: "text/plain")])
        response.derive()
        response.content.text = words
        return scrubbed(response).content.text ?? BodyRedaction.mark
    }

    /// Returns the text that a request has in common with those whose methods and URLs match.
    func key(_ request: HARDocument.Request) -> String { matching.key(method: request.method, url: request.url) }
}
