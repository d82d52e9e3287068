import Testing
import TrellisCore
import TrellisDownloads

/// The options of a download, given at once or one by one.
struct DownloadOptionsTests {
    @Test func allOptionsCanBeGivenAtOnce() {
        var options = DownloadOptions()
        #expect(options.resumesPartialFile && options.keepsPartialFile && options.verifiesDigestFields)
        #expect(options.maximumFailures == 5 && options.maximumInterruptions == nil && options.connections == 1)
        options.resumesPartialFile = false
        options.keepsPartialFile = false
        options.maximumFailures = 2
        options.maximumInterruptions = 3
        options.verifiesDigestFields = false
        options.connections = 4
        let given = DownloadOptions(
            resumesPartialFile: false, keepsPartialFile: false, maximumFailures: 2, maximumInterruptions: 3,
            verifiesDigestFields: false, connections: 4)
        #expect(given == options)
    }
}
