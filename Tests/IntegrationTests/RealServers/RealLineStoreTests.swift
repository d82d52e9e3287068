import Foundation
import Testing
import Trellis

/// Files of curl's format, in which the library and the program curl keep what nginx and caddy have told them.
private enum StoreFile {
    /// The condition of tests with the program curl, which servers do not need.
    static var requiresCurl: ConditionTrait {
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl"), "needs the program curl")
    }

    /// Returns the path of a file that does not exist.
    static func path(_ name: String) throws -> String {
        try temporaryFolder("stores-\(UUID().uuidString)") + "/" + name
    }

    /// Returns the lines of a file that are no comments.
    static func records(_ path: String) throws -> [String] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
            .filter { !$0.hasPrefix("#") }
    }

    /// Runs the program curl, and returns the first line of its output.
    static func curl(_ arguments: [String]) async throws -> String {
        let program = """
            import subprocess, sys
            command = ["/usr/bin/curl", "-q", "-sS", "--noproxy", "*", *sys.argv[1:]]
            run = subprocess.run(command, capture_output=True, text=True)
            print((run.stdout or run.stderr).splitlines()[:1])
            """
        return try await PythonProcess(["-c", program] + arguments).nextLine()
    }

    /// Requires that a text of a file is a date of the next days.
    static func isSoon(
        _ text: Substring, within limit: TimeInterval, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "UTC")
        formatter.dateFormat = "yyyyMMdd HH:mm:ss"
        let date = try #require(formatter.date(from: String(text)), "\(text)", sourceLocation: sourceLocation)
        let seconds = date.timeIntervalSinceNow
        #expect(seconds > limit - 120 && seconds <= limit, "\(text)", sourceLocation: sourceLocation)
    }
}

/// Hosts of nginx that ask for https are kept in a file (RFC 6797).
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"))
struct RealLineHSTSFileTests {
    private let peer: Peer
    private let path: String

    init() async throws {
        peer = try await Peer.realServers.value
        path = try StoreFile.path("hsts.txt")
    }

    private var places: [String] {
        get throws {
            let secure = try #require(peer.announcement.ports["nginx-names"])
            let plain = try #require(peer.announcement.ports["nginx-plain"])
            return [":443:127.0.0.1:\(secure)", ":80:127.0.0.1:\(plain)"]
        }
    }

    /// Returns the responses to requests of a session that has the file, and nothing else, from earlier ones.
    private func texts(_ urls: String...) async throws -> [String] {
        var configuration = SessionConfiguration()
        let store = HSTSStore(file: path)
        configuration.hsts = store
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        for place in try places { configuration.route.connectTo.append(try ConnectTo(place)) }
        let session = Session(configuration: configuration)
        var texts: [String] = []
        for url in urls { texts.append(try await session.string(url)) }
        await session.shutdown()
        #expect(store.failure == nil)
        return texts
    }

    private func curl(_ url: String) async throws -> String {
        let options = ["--hsts", path, "--cacert", peer.announcement.ca]
        return try await StoreFile.curl(options + places.flatMap { ["--connect-to", $0] } + [url])
    }

    @Test func laterSessionsKnowTheHost() async throws {
        #expect(try await texts("https://one.example/") == ["https one.example one.example"])
        let records = try StoreFile.records(path)
        let record = try #require(records.first)
        #expect(records.count == 1 && record.hasPrefix(#".one.example ""#) && record.hasSuffix(#"""#), "\(records)")
        try StoreFile.isSoon(record.dropFirst(14).dropLast(), within: 3600)
        // The names below the host are included, and others are not.
        #expect(
            try await texts("http://sub.one.example/", "http://one.example/", "http://two.example/") == [
                "https sub.one.example sub.one.example", "https one.example one.example", "http two.example ",
            ])
        #expect(try await texts("http://one.example/forget") == ["forgotten"])
        #expect(try await texts("http://one.example/") == ["http one.example "])
        #expect(try StoreFile.records(path).filter { $0.hasPrefix(".one.example ") }.isEmpty)
    }

    /// The file has the lines that curl writes: names with and without those below them, an end in the past, and no end.
    @Test func aFileThatIsThere() async throws {
        let text = """
            # Your HSTS cache. https://curl.se/docs/hsts.html
            # This file was generated by libcurl! Edit at your own risk.
            .one.example "20991231 10:00:00"
            two.example "unlimited"
            three.example "20200101 10:00:00"

            """
        try Data(text.utf8).write(to: URL(filePath: path))
        #expect(
            try await texts(
                "http://sub.one.example/", "http://two.example/", "http://sub.two.example/", "http://three.example/")
                == [
                    "https sub.one.example sub.one.example", "https two.example two.example",
                    "http sub.two.example ", "http three.example ",
                ])
    }

    @Test(StoreFile.requiresCurl) func curlReadsTheFile() async throws {
        #expect(try await curl("http://one.example/") == "['http one.example ']")
        _ = try await texts("https://one.example/")
        #expect(try await curl("http://one.example/") == "['https one.example one.example']")
        #expect(try await curl("http://sub.one.example/") == "['https sub.one.example sub.one.example']")
    }

    @Test(StoreFile.requiresCurl) func curlWritesTheFile() async throws {
        #expect(try await curl("https://one.example/") == "['https one.example one.example']")
        #expect(
            try await texts("http://sub.one.example/", "http://two.example/") == [
                "https sub.one.example sub.one.example", "http two.example ",
            ])
        // curl takes the host back.
        #expect(try await curl("http://one.example/forget") == "['forgotten']")
        #expect(try await texts("http://one.example/") == ["http one.example "])
    }
}

/// The alternative services that caddy names are kept in a file (RFC 7838). They are used where the running libcurl has HTTP/3.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("caddy"))
struct RealLineAlternativeFileTests {
    private let peer: Peer
    private let path: String
    private let port: Int
    private let url: String

    init() async throws {
        peer = try await Peer.realServers.value
        path = try StoreFile.path("alt-svc.txt")
        port = try #require(peer.announcement.ports["caddy"])
        url = "https://localhost:\(port)/small"
    }

    /// The version of the next response, when the service is known.
    private static let expected: HTTPVersion = RunningLibcurl.hasHTTP3 ? .http3 : RunningLibcurl.usualVersion

    /// Returns the version of the response to the first request of a session that has the file, and nothing else, from earlier ones.
    private func version() async throws -> HTTPVersion? {
        var configuration = SessionConfiguration()
        let store = AlternativeServiceStore(file: path)
        configuration.alternativeServices = store
        configuration.route.addressFamily = .ipv4
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        let session = Session(configuration: configuration)
        let (data, response) = try await session.data(url)
        #expect(String(decoding: data, as: UTF8.self) == "hello world")
        await session.shutdown()
        let service = AlternativeService(protocolID: "h3", host: "localhost", port: port)
        #expect(await store.services(for: url) == [service] && store.failure == nil)
        return response.version
    }

    @Test func theNextSessionKnowsTheService() async throws {
        #expect(try await version() == RunningLibcurl.usualVersion)
        let records = try StoreFile.records(path)
        let record = try #require(records.first)
        let head = #"h1 localhost \#(port) h3 localhost \#(port) ""#
        #expect(records.count == 1 && record.hasPrefix(head) && record.hasSuffix(#"" 0 0"#), "\(records)")
        try StoreFile.isSoon(record.dropFirst(head.utf8.count).dropLast(5), within: 2_592_000)
        #expect(try await version() == Self.expected)
    }

    /// The file has the line that curl writes after a response over HTTP/2.
    @Test func aFileThatIsThere() async throws {
        let text = """
            # Your alt-svc cache. https://curl.se/docs/alt-svc.html
            # This file was generated by libcurl! Edit at your own risk.
            h2 localhost \(port) h3 localhost \(port) "20991231 10:00:00" 0 0

            """
        try Data(text.utf8).write(to: URL(filePath: path))
        #expect(try await version() == Self.expected)
    }

    @Test(StoreFile.requiresCurl) func curlWritesTheFile() async throws {
        let options = ["--alt-svc", path, "--cacert", peer.announcement.ca, "-4"]
        #expect(try await StoreFile.curl(options + [url]) == "['hello world']")
        #expect(try await version() == Self.expected)
        // The service stays in the file, whichever of the two programs has written it.
        #expect(try await StoreFile.curl(options + [url]) == "['hello world']")
        #expect(try StoreFile.records(path).contains { $0.contains(" h3 localhost \(port) ") })
    }
}
