import CurlEngine
import Foundation
import Glibc
import TestSupport
import Testing

@testable import TrellisCore

/// The checks of a file that has changed.
@Suite(.timeLimit(.minutes(3)))
struct TrustCheckTests {
    private static let interval = Duration.seconds(2)

    /// The check begins to read a pipe, which has taken the place of the file and has no writer. Requests beside it go on with what was
    /// checked an interval ago; later ones wait for what may be new.
    @Test func onlyTheRequestThatBeginsACheckWaitsForIt() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("ca.pem")
        try Data(TestCertificates.rootPEM.utf8).write(to: URL(filePath: path))
        var tls = TLSConfiguration(authorities: .only([.file(path)]))
        tls.fileCheckInterval = Self.interval
        let entry = TrustEntry(tls, isForProxies: false, patience: .seconds(600))
        let start = EngineInstant(nanoseconds: 1)
        #expect(try await entry.refresh(now: start) { nil } == nil)

        try FileManager.default.removeItem(atPath: path)
        let isMade = unsafe mkfifo(path, 0o600) == 0
        try #require(isMade)
        let due = start.advanced(by: Self.interval)
        let first = Task { try await entry.refresh(now: due) { nil } }
        let pipe = try #require(await BlockingThreadPool.run { FileHandle(forWritingAtPath: path) })
        #expect(try await entry.refresh(now: due) { nil } == nil)
        let late = Task { try await entry.refresh(now: due.advanced(by: Self.interval)) { nil } }

        let contents = TestCertificates.rootPEM + TestCertificates.leafPEM
        try await BlockingThreadPool.trying { try pipe.write(contentsOf: Data(contents.utf8)) }
        try pipe.close()
        let changes = [try await first.value, try await late.value].compactMap { $0 }
        #expect(changes.map(\.paths) == [[path]] && changes.allSatisfy { $0.error == nil })
    }
}
