import Foundation
import TestSupport
import Testing

@testable import TrellisCore
@testable import TrellisUpgrades

/// The limits on the file of a store, and on what waits for the file.
@Suite(.timeLimit(.minutes(3)))
struct RecordFileTests {
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Servers choose the length of their records. A file that is too large to be read would be the end of the store.
    @Test func aFileIsNotWrittenLargerThanItIsRead() async throws {
        let file = RecordFile<HSTSFormat>(path: folder.path("hsts.txt"), maximumSize: 2048)
        var changes = RecordChanges<HSTSHost>()
        for number in 1...200 {
            let end = Self.now.addingTimeInterval(Double(number) * 60)
            let host = HSTSHost(canonical: "h\(number).example", includesSubdomains: false, expires: end)
            changes.records[host.key] = .some(host)
        }
        let kept = try await file.write(changes, isPatient: true, at: Self.now)
        let read = try await file.read(at: Self.now)
        #expect(read.count == kept.count && read.count > 10)
        // The hosts that end first are removed.
        #expect(read["h200.example"] != nil && read["h1.example"] == nil)
    }

    /// A server that names a service and takes it back does not fill the memory while the file cannot be written.
    @Test func removalsOfRecordsThatWereNotWrittenAreBounded() async {
        let store = RecordStore<AlternativeServiceFormat>(path: folder.path) { Self.now }
        await store.load()
        let service = AlternativeService(protocolID: "h3", host: "a.example", port: 443)
        let known = OriginAlternatives.Known(service: service, end: Self.now.addingTimeInterval(60), persists: false)
        for number in 0..<3 * AlternativeServiceFormat.limit {
            let record = OriginAlternatives(key: "\(number).example:443", services: [known])
            store.insert(record)
            store.remove(record.key)
        }
        // The batch that is being written at the moment counts again after the failure.
        await #expect(throws: FileFailure.self) { try await store.flush() }
        #expect(store.changeCount <= 2 * AlternativeServiceFormat.limit)
    }
}
