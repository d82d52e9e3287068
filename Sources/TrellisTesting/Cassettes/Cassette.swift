import CurlEngine
public import Trellis

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
    /// The way in which the cassette is used. The default is ``CassetteMode/environment``.
    public var mode: CassetteMode
    /// The parts of a request by which its recording is found. The default is the method and the URL.
    public var matching = CassetteMatching()
    /// The changes of requests and responses before they are written, and of requests before they are compared, in this order. The default
    /// removes what is known to be a secret (``Scrubber/secrets``).
    public var scrubbers: [Scrubber] = [.secrets]
    /// Indicates whether a recording that was used answers further requests that match it. The default is `false`: each recording is used
    /// once, in the order of the file.
    public var allowsRepeats = false
    /// Indicates whether a test may leave recordings unused. The default is `true`. If it is `false`, ``withTransport(_:_:)-(Transport,_)``
    /// and the trait `.trellis(…)` of `TrellisTestTraits` make the recordings that were not replayed failures of the test.
    public var allowsUnused = true
    /// The configuration of the session that sends requests when they are recorded: TLS, routes, proxies and versions. Everything that the
    /// session under test does itself is not taken from it: steps, cookies, redirects, decoding, limits on time and default fields.
    public var upstream = SessionConfiguration()
    /// The clock on which a replay waits as long as the response took when it was recorded; `nil`, the default, if it does not wait. The
    /// chunks of a body are those that were recorded in any case.
    public var clock: (any Clock<Duration>)?
    /// The name of the tests that use the cassette, for messages; `nil` if not known.
    let testName: String?

    /// Creates a cassette beside the file of a test: `Cassettes/NAME.har` in the same folder.
    ///
    /// - Parameters:
    ///   - name: The name of the cassette, which may contain slashes, with or without `.har`.
    ///   - mode: The way in which the cassette is used.
    ///   - filePath: The path of the test's source file.
    public init(_ name: String, mode: CassetteMode = .environment, filePath: String = #filePath) {
        let ending = name.hasByteSuffix(".har") ? "" : ".har"
        self.init(
            path: "\(FileSystem.folder(of: filePath))/Cassettes/\(name)\(ending)", mode: mode, filePath: filePath)
    }

    /// Creates a cassette at a path.
    ///
    /// - Parameters:
    ///   - path: The path of the file, absolute or relative to the current directory of the process.
    ///   - mode: The way in which the cassette is used.
    ///   - filePath: The path of the test's source file, whose name is that of the tests in messages.
    public init(
        path: some FilePathConvertible, mode: CassetteMode = .environment, filePath: String = #filePath
    ) {
        self.path = path.filePath
        self.mode = mode
        let file = String(filePath.lastPathComponent)
        testName = file.hasByteSuffix(".swift") ? String(file.dropLast(6)) : nil
    }

    /// The command that records the cassette in a mode.
    func command(_ mode: CassetteMode) -> String {
        "\(CassetteMode.variable)=\(mode) swift test\(testName.map { " --filter \($0)" } ?? "")"
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

    /// Returns the fields of an informational head, or of trailers, without what the scrubbers remove: to them, the fields are those of a
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
