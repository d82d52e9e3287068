import Dispatch
import Foundation
import Testing

@testable import CurlEngine

/// Scripts are evaluated by the real library, one after the other.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPAC)
struct ProxyScriptRunnerTests {
    private typealias Runner = ProxyScriptRunner

    private static func function(_ body: String) -> String { "function FindProxyForURL(url, host) { \(body) }" }

    private func result(
        of script: String, url: String = "http://www.example.com/", host: String = "www.example.com",
        ownAddress: String? = nil
    ) async throws -> String {
        try await Runner.result(of: script, for: .init(url: url, host: host, ownAddress: ownAddress))
    }

    /// Expressions of the functions that every script may use, with their values for `http://www.example.com/`.
    static let expressions: [(String, String)] = [
        ("isPlainHostName('www')", "true"), ("isPlainHostName('www.a')", "false"),
        ("dnsDomainIs(host, '.example.com')", "true"), ("dnsDomainIs(host, '.example.org')", "false"),
        ("dnsDomainIs('example.com', '.example.com')", "false"),
        ("localHostOrDomainIs('www', host)", "true"), ("localHostOrDomainIs('home.example.com', host)", "false"),
        ("dnsDomainLevels('www')", "0"), ("dnsDomainLevels(host)", "2"),
        ("shExpMatch(url, '*/')", "true"), ("shExpMatch('http://a/b', '*/c')", "false"),
        ("shExpMatch('abc', 'a?c')", "true"), ("shExpMatch('axc', 'a.c')", "false"),
        ("isInNet('198.95.249.79', '198.95.249.79', '255.255.255.255')", "true"),
        ("isInNet('198.95.6.8', '198.95.0.0', '255.255.0.0')", "true"),
        ("isInNet('198.96.6.8', '198.95.0.0', '255.255.0.0')", "false"),
        ("isResolvable('127.0.0.1')", "true"), ("dnsResolve('127.0.0.1')", "127.0.0.1"),
        ("weekdayRange('SUN', 'SAT')", "true"), ("dateRange(1, 31)", "true"), ("timeRange(0, 23)", "true"),
        ("url", "http://www.example.com/"), ("host", "www.example.com"), ("'a\\tb'", "a\tb"),
    ]

    @Test(arguments: expressions)
    func theFunctionsOfScripts(_ expression: String, _ expected: String) async throws {
        let script = Self.function("return '' + (\(expression))")
        #expect(try await result(of: script) == expected)
    }

    @Test func theAddressOfTheMachine() async throws {
        let script = Self.function("return myIpAddress()")
        #expect(try await result(of: script, ownAddress: "10.1.2.3") == "10.1.2.3")
        #expect(try await result(of: script, ownAddress: "10.1.2.4") == "10.1.2.4")
        let own = try await result(of: script)
        #expect(own.isAddress && own != "10.1.2.4")
    }

    @Test func aScriptKeepsItsVariablesUntilAnotherOneIsAsked() async throws {
        let counting = "var count = 0; " + Self.function("return 'n' + ++count")
        #expect(try await result(of: counting) == "n1")
        #expect(try await result(of: counting) == "n2")
        #expect(try await result(of: Self.function("return typeof count")) == "undefined")
        #expect(try await result(of: counting) == "n1")
    }

    @Test(arguments: ["return null", "return ''"])
    func noProxyIsAnEmptyText(_ body: String) async throws {
        #expect(try await result(of: Self.function(body)) == "")
    }

    /// Scripts with the reasons why they have no result.
    static let failures: [(String, String)] = [
        (function("return"), "the result of its function is undefined, not a text"),
        (function("return 7"), "the result of its function is number, not a text"),
        (function("return { toString: function () { throw 1 } }"), "the result of its function is object, not a text"),
        (function("throw 'no \\n\\x07 idea'"), "its function has thrown: no idea"),
        (function("throw { toString: function () { throw 1 } }"), "its function has thrown: "),
        (function("missing()"), "its function has thrown: ReferenceError: missing is not defined"),
        ("var x = 1", "it has no function FindProxyForURL"), ("", "it has no function FindProxyForURL"),
        ("var FindProxyForURL = 'PROXY a:1'", "it has no function FindProxyForURL"),
        ("\n\nfunction (", "line 3: SyntaxError: missing formal parameter"),
        ("throw 'at once'", "uncaught exception: at once"),
        ("<html>", "line 1: SyntaxError: unexpected end of XML source"),
    ]

    @Test(arguments: failures)
    func aScriptWithAnError(_ script: String, _ reason: String) async throws {
        await #expect(throws: Runner.Failure.script(reason)) { try await result(of: script) }
        // The next script is not affected.
        #expect(try await result(of: Self.function("return 'DIRECT'")) == "DIRECT")
    }

    @Test func recursionWithoutEndIsAnError() async {
        let script = Self.function("return deep(); function deep() { return 1 + deep() }")
        await #expect(throws: Runner.Failure.script("its function has thrown: InternalError: too much recursion")) {
            try await result(of: script)
        }
    }

    /// The library writes the arguments into a text of JavaScript.
    @Test(arguments: [
        "'", "\"", "\\", "\n", "\u{7f}", "<", "\u{e4}", "') + evil('", String(repeating: "'", count: 5000),
    ])
    func argumentsStayTexts(_ text: String) async throws {
        let script = Self.function("return url + ' ' + host")
        let encoded = Data(text.utf8).map { byte in
            let scalar = UnicodeScalar(byte)
            return byte < 0x7f && (scalar.properties.isAlphabetic || "()+".unicodeScalars.contains(scalar))
                ? String(scalar) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
        let received = try await result(of: script, url: "http://a/\(text)", host: "a\(text)")
        #expect(received == "http://a/\(encoded) a\(encoded)")
    }

    /// Neither do scripts need a thread of the pool, nor does one that does not return keep one.
    @Test func evaluationsHaveAThreadOfTheirOwn() async throws {
        let begun = Locked(0), mayEnd = DispatchSemaphore(value: 0)
        let count = BlockingThreadPool.maximumCount
        for _ in 0..<count {
            BlockingThreadPool.begin {
                begun.withLock { $0 += 1 }
                mayEnd.wait()
            }
        }
        defer { for _ in 0..<count { mayEnd.signal() } }
        while begun.withLock({ $0 }) < count, !Task.isCancelled { await Task.yield() }
        #expect(try await result(of: Self.function("return 'DIRECT'")) == "DIRECT")
    }

    @Test func manyTasksGetTheirOwnResults() async throws {
        let scripts = (0..<4).map { Self.function("return '\($0) ' + host") }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<200 {
                group.addTask {
                    try await result(of: scripts[index % 4], host: "h\(index)") == "\(index % 4) h\(index)"
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }
}

extension Trait where Self == ConditionTrait {
    /// Enables a test only if libpacparser is installed. In CI it is expected.
    static var requiresPAC: Self {
        let isExpected = ProcessInfo.processInfo.environment["CI"] == "true"
        return .enabled(if: ProxyScriptRunner.isAvailable || isExpected, "needs libpacparser1")
    }
}
