import CurlEngine
import Testing
import Trellis

/// The evaluation of scripts without its library. The test has a process of its own, because a library that was loaded stays.
@Suite(.timeLimit(.minutes(3)))
struct MissingPACLibraryTests {
    @Test func theErrorSaysWhatToInstall() async {
        await #expect(processExitsWith: .success) {
            ProxyScriptRunner.replaceLibrary(with: "libtrellis-absent.so.1")
            var configuration = SessionConfiguration()
            configuration.proxy = .automatic(.text("function FindProxyForURL(url, host) { return 'DIRECT' }"))
            let session = Session(configuration: configuration)
            let error = await #expect(throws: TrellisError.self) { try await session.data("http://far.invalid/") }
            let text = "PAC scripts need the library libtrellis-absent.so.1; its package is libpacparser1 in Debian"
            #expect(error?.kind == .unsupported)
            #expect(error?.description.contains(text) == true, "\(error as Any)")
            #expect(error?.isRetryable == false)
            await session.shutdown()
        }
    }
}
