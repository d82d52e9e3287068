import CurlEngine
import Foundation
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// Checksums of files on the disk.
@Suite(.timeLimit(.minutes(3)))
struct ChecksumFileTests {
    private static let abc256 = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    private let path = FileManager.default.temporaryDirectory.appending(path: "trellis-\(UUID().uuidString)").path

    private func write(_ data: Data) throws { try data.write(to: URL(filePath: path)) }

    private func removeFile() throws { try FileManager.default.removeItem(atPath: path) }

    @Test func theChecksumOfAFile() async throws {
        try write(Data("abc".utf8))
        let short = try await Checksum.sha256(ofFileAt: path), long = try await Checksum.sha512(ofFileAt: path)
        #expect(short.description == Self.abc256)
        #expect(long.name == "sha512" && long.description.hasPrefix("sha512:ddaf35a193617aba"))
        for checksum in [short, long] {
            #expect(try await checksum.matches(fileAt: path))
            #expect(Checksum(checksum.description)?.expected == checksum.expected)
        }
        try write(Data("abd".utf8))
        #expect(try await !short.matches(fileAt: path))
        try removeFile()
    }

    @Test func aFileMayBeNamedByItsURL() async throws {
        try write(Data("abc".utf8))
        let url = URL(filePath: path)
        let checksum = try await Checksum.sha256(ofFileAt: url)
        #expect(checksum.description == Self.abc256)
        #expect(try await Checksum.sha512(ofFileAt: url) == Checksum.sha512(ofFileAt: path))
        #expect(try await checksum.matches(fileAt: url))
        try removeFile()
    }

    /// Files of no bytes, of one piece and of several pieces.
    @Test(arguments: [0, 1 << 20, 3_000_000]) func ofAnySize(_ count: Int) async throws {
        let content = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 >> 8 ^ $0) })
        try write(content)
        var digest = try #require(Checksum(.sha256, [UInt8]()).makeDigest())
        digest.update(content)
        let expected = digest.finish()
        #expect(try await Checksum.sha256(ofFileAt: path).expected == expected)
        try removeFile()
    }

    @Test func aFileThatCannotBeReadIsAnError() async {
        let checksum = Checksum(Self.abc256)
        let missing = await #expect(throws: TrellisError.self) { try await checksum?.matches(fileAt: path) }
        #expect(missing?.kind == .file && missing?.description.contains("\(path) cannot be read") == true)
        let folder = await #expect(throws: TrellisError.self) { try await Checksum.sha256(ofFileAt: "/") }
        #expect(folder?.reason == .downloadFailed(.unreadable(path: "/", reason: "it is a directory")))
    }

    @Test func anInvalidChecksumIsAnError() async throws {
        let error = await #expect(throws: TrellisError.self) { try await Checksum.sha256("abc").matches(fileAt: path) }
        #expect(error?.kind == .invalidRequest)
    }

    @Test func aCancelledTaskReadsNothing() async {
        let gate = LoopbackServer.Gate()
        let task = Task { [path] in
            try? await gate.opened()
            return try await Checksum.sha256(ofFileAt: path)
        }
        task.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// A digest that adds up bytes, and records whether `update` ran on the engine's thread.
    private struct Adder: DigestFunction {
        let wasEngine: Locked<[Bool]>
        private var sum: UInt8 = 0

        init(_ wasEngine: Locked<[Bool]>) { self.wasEngine = wasEngine }

        mutating func update(_ bytes: Data) {
            wasEngine.withLock { $0.append(CallingThread.isEngine) }
            for byte in bytes { sum &+= byte }
        }

        mutating func finish() -> [UInt8] { [sum] }
    }

    @Test func theEngineDoesNotRead() async throws {
        try write(Data([1, 2, 3]))
        let wasEngine = Locked<[Bool]>([])
        let checksum = Checksum(name: "sum", [6] as [UInt8]) { Adder(wasEngine) }
        let engine = EngineExecutor()
        let task = Task(executorPreference: engine) { [path] in
            #expect(CallingThread.isEngine)
            return try await checksum.matches(fileAt: path)
        }
        #expect(try await task.value)
        #expect(wasEngine.withLock { $0 } == [false])
        await engine.shutDown()
        try removeFile()
    }

    @Test func aCallerThatLeavesDoesNotWaitForADiskThatHangs() async throws {
        try write(Data("abc".utf8))
        let disk = HangingDisk()
        try await disk.hanging(at: HangingDisk.isOpening) {
            let task = Task { try await Checksum.sha256(ofFileAt: path) }
            try await disk.isReached.opened()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        disk.goOn()
        try removeFile()
    }
}
