import Foundation
import Glibc
import Testing
import TrellisTesting

@testable import CurlEngine

/// The system's file of certificate authorities, which changes.
final class SystemAuthoritiesTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "trellis-authorities-\(UUID())").path

    deinit { try? FileManager.default.removeItem(atPath: path) }

    private func write(_ text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
    }

    private func authority(_ name: String) throws -> String {
        try #require(
            IssuedCertificate(commonName: name, use: .authority, begin: -60, end: 3600, issuer: nil)
        ).pem
    }

    @Test func aChangeIsAVersion() throws {
        try write(authority("a"))
        let system = SystemAuthorities(path: path)
        let first = system.current
        system.look()
        #expect(system.number == 0 && system.current.path == path && first.path == path)
        let second = try authority("b")
        try write(second)
        system.look()
        let version = system.current
        #expect(system.number == 1 && version.number == 1 && version.path != path)
        system.look()
        #expect(system.number == 1)
        // The contents are read once, and those of each version are its own.
        #expect(version.contents == Array(second.utf8))
        let third = try authority("c")
        try write(third)
        system.look()
        #expect(system.number == 2 && system.current.contents == Array(third.utf8))
        #expect(version.contents == Array(second.utf8))
    }

    /// A file that is being written, or that is gone for a moment, does not end the use of the earlier authorities.
    @Test(arguments: ["", "text", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    func contentsThatCannotBeUsedAreNoChange(_ text: String) throws {
        try write(authority("a"))
        let system = SystemAuthorities(path: path)
        try write(text)
        for _ in 1...2 { system.look() }
        #expect(system.number == 0)
        try FileManager.default.removeItem(atPath: path)
        system.look()
        #expect(system.number == 0)
        try write(authority("b"))
        system.look()
        #expect(system.number == 1)
    }

    /// Too many open files are no reason to use the earlier authorities until another change.
    @Test func aChangeThatCannotBeReadIsNoticedLater() async {
        await #expect(processExitsWith: .success) {
            let path = FileManager.default.temporaryDirectory.appending(path: "trellis-authorities-\(UUID())").path
            func put(_ name: String) throws {
                let authority = IssuedCertificate(
                    commonName: name, use: .authority, begin: -60, end: 3600, issuer: nil)
                try Data((authority?.pem ?? "").utf8).write(to: URL(filePath: path), options: .atomic)
            }
            try put("a")
            let system = SystemAuthorities(path: path)
            try put("b")
            var limit = rlimit()
            let isKnown = unsafe getrlimit(__rlimit_resource_t(7), &limit) == 0  // RLIMIT_NOFILE
            var none = rlimit(rlim_cur: 3, rlim_max: limit.rlim_max)
            let isLimited = unsafe setrlimit(__rlimit_resource_t(7), &none) == 0
            system.look()
            let number = system.number
            let isUnlimited = unsafe setrlimit(__rlimit_resource_t(7), &limit) == 0
            system.look()
            try FileManager.default.removeItem(atPath: path)
            expectInProcess(isKnown && isLimited && isUnlimited && number == 0 && system.number == 1)
        }
    }

    /// A failure to read the file, for example because of too many open files, may pass.
    @Test func contentsThatCannotBeReadAreReadLater() throws {
        try write(authority("a"))
        let version = SystemAuthorities(path: path).current
        try FileManager.default.removeItem(atPath: path)
        #expect(version.contents.isEmpty)
        let text = try authority("b")
        try write(text)
        #expect(version.contents == Array(text.utf8))
    }

    /// A disk that does not answer keeps one thread, not one for each look. Here, it is a pipe whose writer writes nothing.
    @Test(.timeLimit(.minutes(3))) func oneLookWaitsAtATime() async throws {
        try write(authority("a"))
        let system = SystemAuthorities(path: path), second = Data(try authority("b").utf8)
        try FileManager.default.removeItem(atPath: path)
        let isMade = unsafe mkfifo(path, 0o600) == 0
        try #require(isMade)
        let first = Task { await BlockingThreadPool.run { system.look() } }
        // The pipe has a writer as soon as it has a reader.
        var descriptor: Int32 = -1
        while descriptor < 0, !Task.isCancelled {
            descriptor = unsafe open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            await Task.yield()
        }
        try #require(descriptor >= 0)
        let (end, writer) = (Locked(false), descriptor)
        let close: @Sendable () -> Void = {
            let isFirst = end.withLock { end in
                defer { end = true }
                return !end
            }
            if isFirst { _ = Glibc.close(writer) }
        }
        defer { close() }
        await withTaskCancellationHandler {
            await BlockingThreadPool.run { system.look() }
        } onCancel: {
            close()
        }
        #expect(system.number == 0)
        try FileHandle(fileDescriptor: writer, closeOnDealloc: false).write(contentsOf: second)
        close()
        await first.value
        #expect(system.number == 1)
    }

    /// The path stays the path of the file when the process changes its folder, and libcurl's names of TLS sessions have its spelling.
    @Test func aRelativePathIsMadeAbsolute() async {
        #expect(CertificateBundle.absolute("/a/ca.pem") == "/a/ca.pem")
        await #expect(processExitsWith: .success) {
            let folder = FileManager.default.temporaryDirectory.appending(path: "trellis-folder-\(UUID())").path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let isInside = FileManager.default.changeCurrentDirectoryPath(folder)
            try Data("x".utf8).write(to: URL(filePath: folder + "/ca.pem"))
            let isSet = unsafe setenv("SSL_CERT_FILE", "ca.pem", 1) == 0
            let path = SystemAuthorities.Version.first.path ?? ""
            let isFound = path.hasPrefix("/") && FileManager.default.contents(atPath: path) == Data("x".utf8)
            try FileManager.default.removeItem(atPath: folder)
            expectInProcess(isInside && isSet && isFound, path)
        }
    }

    /// libcurl distinguishes the versions by the texts of their paths.
    @Test func spellingsAreOnePathAndDifferentTexts() throws {
        try write("x")
        let stamp = try #require(FileContents.Stamp(path: path))
        let spellings = (0..<300).map { SystemAuthorities.Version.spelling($0, of: path) }
        #expect(Set(spellings).count == 300 && spellings[0] == path)
        #expect(spellings.allSatisfy { FileContents.Stamp(path: $0) == stamp })
        let relative = (0..<300).map { SystemAuthorities.Version.spelling($0, of: "a/ca.pem") }
        #expect(Set(relative).count == 300)
        #expect(relative.allSatisfy { $0.split(separator: "/").filter { $0 != "." } == ["a", "ca.pem"] })
        #expect(relative.allSatisfy { $0.utf8.first != UInt8(ascii: "/") })
        #expect(spellings[255].utf8.count - path.utf8.count == 16)
    }

    /// The framework does not take the connections of one version for those of another one.
    @Test func versionsHavePoolsOfTheirOwn() throws {
        try write(authority("a"))
        let system = SystemAuthorities(path: path)
        var pools: Set<String> = []
        for name in ["b", "c", "d"] {
            var rules = TransferTrust.Rules()
            rules.system = system.current
            pools.insert(TransferTrust(server: rules, proxy: rules, number: 0).pool("x"))
            try write(authority(name))
            system.look()
        }
        #expect(pools.count == 3 && pools.contains("x") && !pools.contains { $0.contains(" ") })
    }
}
