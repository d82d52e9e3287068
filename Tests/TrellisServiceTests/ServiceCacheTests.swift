#if Service
import Foundation
import Testing
import TrellisCaching
import TrellisCore
import TrellisService
import TrellisTesting

/// The cache of a session that ends as a service.
@Suite(.timeLimit(.minutes(3)))
struct ServiceCacheTests {
    /// Stores a response in a folder, with a storage that is closed by the service of its session.
    private func store(in folder: URL, _ end: (Session, DiskCacheStorage) async -> Void) async throws {
        let storage = DiskCacheStorage(directory: folder.path)
        var configuration = SessionConfiguration()
        configuration.steps.cache = HTTPCache(storage: storage)
        let transport = MockTransport { _ in
            MockResponse(headers: [.cacheControl: "max-age=60"], body: Data("kept".utf8))
        }
        let session = Session(configuration: configuration, transport: transport)
        #expect(try await session.string("http://localhost/\(UUID().uuidString)") == "kept")
        await end(session, storage)
    }

    private func hasIndex(_ folder: URL) -> Bool {
        let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        return names.contains { $0 == "index" || $0.hasSuffix("/index") }
    }

    @Test func theIndexOfACacheOnDiskIsSaved() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "trellis-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        // A storage that finds an index knows all entries from its first use on; others read the folder in the background first.
        while !hasIndex(folder) { try await store(in: folder) { _, storage in await storage.close() } }
        try await store(in: folder) { session, storage in
            #expect(!hasIndex(folder), "the index is in the memory of its owner")
            let run = Task { await SessionService(session).run() }
            run.cancel()
            await run.value
            #expect(hasIndex(folder))
            withExtendedLifetime(storage) {}
        }
    }
}
#endif
