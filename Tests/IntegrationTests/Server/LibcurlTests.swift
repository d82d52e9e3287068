import Foundation
import Testing
import Trellis

/// `Tests/run.sh` runs everything on two libcurls; here is what keeps it honest.
struct LibcurlTests {
    @Test(.enabled(if: !LibcurlTests.folder.isEmpty, "TRELLIS_TEST_LIBCURL names no folder"))
    func isTheOneThatWasAskedFor() throws {
        _ = Session.default
        let path = try #require(RunningLibcurl.path)
        // The folder may hold links to where the library really is.
        let wanted = URL(filePath: "\(Self.folder)/libcurl.so.4").resolvingSymlinksInPath().path
        #expect(URL(filePath: path).resolvingSymlinksInPath().path == wanted)
    }

    static let folder = ProcessInfo.processInfo.environment["TRELLIS_TEST_LIBCURL"] ?? ""
}
