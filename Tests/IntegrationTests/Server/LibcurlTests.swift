import Foundation
import Testing
import Trellis

/// The libcurl in use is the one that `Tests/run.sh` has asked for: the script runs all tests on two libcurls.
struct LibcurlTests {
    @Test(.enabled(if: !LibcurlTests.folder.isEmpty, "TRELLIS_TEST_LIBCURL names no folder"))
    func isTheOneThatWasAskedFor() throws {
        _ = Session.default
        let path = try #require(RunningLibcurl.path)
        // The folder may hold links to the place of the library.
        let wanted = URL(filePath: "\(Self.folder)/libcurl.so.4").resolvingSymlinksInPath().path
        #expect(URL(filePath: path).resolvingSymlinksInPath().path == wanted)
    }

    static let folder = ProcessInfo.processInfo.environment["TRELLIS_TEST_LIBCURL"] ?? ""
}
