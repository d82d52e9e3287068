import CurlEngine
import Testing
import Trellis

/// The socket of a SOCKS proxy in front of an HTTP proxy makes no connection.
@Suite(.timeLimit(.minutes(3)))
struct ProxySocketFailureTests {
    /// The error names the socket, never a name or an address that libcurl gets instead.
    @Test(arguments: [
        ("full", "Resource temporarily unavailable"), ("nowhere", "No such file or directory"),
    ])
    func theErrorNamesTheSocket(_ name: String, _ reason: String) async throws {
        let folder = try temporaryFolder("proxy-socket-\(name)")
        let full = try FullSocket(at: "\(folder)/full")
        let path = "\(folder)/\(name)"
        var configuration = SessionConfiguration()
        configuration.proxy = .always(
            try Proxy("http://192.0.2.1:3128").reached(through: Proxy("socks5h://localhost\(path)")))
        let session = Session(configuration: configuration)
        for _ in 1...2 {
            let error = await expectFailure([.proxy]) { try await session.data("https://192.0.2.2/") }
            #expect(error?.mayHaveSentBytes == false && error?.isRetryable == true)
            guard case .proxyFailed(.unreachable(let proxy, let words)) = error?.reason else {
                Issue.record("\(error as Any)")
                continue
            }
            #expect(proxy == path && !words.contains("trellis.invalid") && !words.contains("127.0.0.1"))
            // Older versions of libcurl do not tell that a queue is full.
            if LibcurlFeatures.current.isAtLeast(8, 17) { #expect(words == "\(path): \(reason)") }
        }
        withExtendedLifetime(full) {}
        await session.shutdown()
    }
}
