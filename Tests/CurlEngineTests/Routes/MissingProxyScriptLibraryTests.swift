import CCurl
import Testing

@testable import CurlEngine

/// Scripts for proxies need a library that may be missing, or be another one. Each test has a process of its own, because a library that
/// was loaded stays.
@Suite(.timeLimit(.minutes(3)))
struct MissingProxyScriptLibraryTests {
    @Test func aLibraryThatIsMissing() async {
        await #expect(processExitsWith: .success) {
            // The last one is there, and has no functions for scripts.
            for name in ["libtrellis-absent.so.1", "/nonexistent/libpacparser.so.1", "", "libc.so.6"] {
                #expect(unsafe ccurl_pac_is_available(name) == false, "\(name)")
            }
        }
    }

    /// Attempts that failed do not prevent a later one.
    @Test(.requiresPAC) func theLibraryIsFoundAfterwards() async {
        await #expect(processExitsWith: .success) {
            #expect(unsafe ccurl_pac_is_available("libtrellis-absent.so.1") == false)
            #expect(unsafe ccurl_pac_is_available("libc.so.6") == false)
            #expect(ProxyScriptRunner.isAvailable)
            let result = try await ProxyScriptRunner.result(
                of: "function FindProxyForURL(url, host) { return 'PROXY ' + host }",
                for: .init(url: "http://a.example/", host: "a.example"))
            #expect(result == "PROXY a.example")
        }
    }
}
