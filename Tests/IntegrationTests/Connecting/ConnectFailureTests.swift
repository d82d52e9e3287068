import Glibc
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// Connections that cannot be established are errors, and leave the session usable.
@Suite(.timeLimit(.minutes(3)))
struct ConnectFailureTests {
    @Test func refusedConnection() async throws {
        let gone = try ClosedPort()
        try await fails(with: .connect, gone.url())
    }

    @Test("an address that no route leads to", arguments: ["255.255.255.255", "224.0.0.1"])
    func unroutableAddress(_ address: String) async throws {
        try await fails(with: .connect, "http://\(address):9/")
    }

    @Test func missingUnixSocket() async throws {
        var configuration = SessionConfiguration()
        configuration.route = try .unixSocket("/nonexistent/trellis.sock")
        let session = Session(configuration: configuration)
        await expectFailure([.connect]) { try await session.data("http://localhost/") }
        await session.shutdown()
    }

    /// A process without free file descriptors gets the system's error, and the session works again when there are some.
    @Test func noFreeFileDescriptor() async {
        await #expect(processExitsWith: .success) {
            let good = try LoopbackServer.http { _ in .text("good") }
            let other = try LoopbackServer.http { _ in .text("other") }
            let session = Session()
            _ = try await session.data(good.url())
            var limit = rlimit()
            #expect(unsafe getrlimit(__rlimit_resource_t(7), &limit) == 0)
            var none = rlimit(rlim_cur: 3, rlim_max: limit.rlim_max)
            #expect(unsafe setrlimit(__rlimit_resource_t(7), &none) == 0)
            let error = await expectFailure([.connect]) { try await session.data(other.url()) }
            #expect(error?.description.contains("Too many open files") == true)
            #expect(unsafe setrlimit(__rlimit_resource_t(7), &limit) == 0)
            #expect(try await session.string(other.url()) == "other")
        }
    }

    /// A name that cannot be resolved is an error. The second name has a label that is too long, so that no resolver is asked.
    @Test(arguments: ["does-not-exist.invalid", String(repeating: "a", count: 64) + ".invalid"])
    func unresolvableName(_ name: String) async throws {
        try await fails(with: .dns, "http://\(name)/")
    }

    private func fails(with kind: TrellisError.Kind, _ url: String) async throws {
        let good = try LoopbackServer.http { _ in .text("good") }
        let session = Session()
        let error = await expectFailure([kind]) { try await session.data(url) }
        #expect(error?.isConnectionFailure == true)
        #expect(error?.mayHaveSentBytes == false)
        let (data, _) = try await session.data(good.url())
        #expect(String(decoding: data, as: UTF8.self) == "good")
        await session.shutdown()
        try await good.waitUntilAllClosed()
    }
}
