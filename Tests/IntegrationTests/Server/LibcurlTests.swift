import Foundation
import Testing
import Trellis

/// The libcurl in use is the one that `Tests/run.sh` has selected: the script runs all tests on two libcurls.
struct LibcurlTests {
    @Test(.enabled(if: !LibcurlTests.folder.isEmpty, "TRELLIS_TEST_LIBCURL names no folder"))
    func isTheOneThatWasAskedFor() throws {
        _ = Session.default
        let path = try #require(RunningLibcurl.path)
        // The folder may contain symbolic links to the library.
        let wanted = URL(filePath: "\(Self.folder)/libcurl.so.4").resolvingSymlinksInPath().path
        #expect(URL(filePath: path).resolvingSymlinksInPath().path == wanted)
    }

    static let folder = ProcessInfo.processInfo.environment["TRELLIS_TEST_LIBCURL"] ?? ""
}
