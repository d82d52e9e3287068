import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// The faults in the bodies of requests happen on servers of both versions, at their places.
@Suite(.timeLimit(.minutes(3)))
struct FaultPlaceTests {
    static let versions = [HTTPVersionPolicy.http1Only, .http2PriorKnowledge]

    /// A server with faults, and a session that sends bodies to it.
    private struct Uploads {
        let server: LoopbackServer
        let session: Session
        let clock = TestClock()

        init(_ version: HTTPVersionPolicy, _ faults: Fault...) throws {
            let plan = FaultPlan(faults.map { .always($0) })
            server =
                try version == .http2PriorKnowledge
                ? LoopbackServer.http2(faults: plan) : LoopbackServer.http(faults: plan) { _ in .text("ok") }
            var configuration = SessionConfiguration()
            configuration.httpVersion = version
            configuration.timeouts = Timeouts(total: nil)
            session = Session(configuration: configuration, clock: clock)
        }

        /// Sends a body of a number of bytes, and returns the text of the response.
        func send(_ count: Int) async throws -> String {
            let body = RequestBody.data(Data(count: count))
            return try await session.string(Request(server.url(), method: .put, body: body))
        }
    }

    @Test(arguments: versions)
    func aSilenceInABodyEndsByTheLimit(_ version: HTTPVersionPolicy) async throws {
        let fault = Fault.silence(.requestBody(after: 3))
        let uploads = try Uploads(version, fault)
        let call = Task { try await uploads.send(6) }
        let error = await #expect(throws: TrellisError.self) {
            try await uploads.session.end(of: call, onLimitsOf: uploads.clock) {
                try await uploads.server.waitUntilFaults(count: 1)
            }
        }
        #expect(error?.kind == .responseTimeout && uploads.server.faults == [fault])
    }

    /// The body is longer than the windows at the beginning of a connection (RFC 9113, section 6.9.2).
    @Test(arguments: versions)
    func aResetCutsALongBody(_ version: HTTPVersionPolicy) async throws {
        let fault = Fault.reset(.requestBody(after: 100_000))
        let uploads = try Uploads(version, fault)
        let error = await #expect(throws: TrellisError.self) { try await uploads.send(300_000) }
        #expect(error?.mayHaveSentBytes == true && uploads.server.faults == [fault])
    }

    /// The bytes of each request are counted by themselves, although the requests may share a connection.
    @Test(arguments: versions)
    func aShorterBodyDoesNotReachTheFault(_ version: HTTPVersionPolicy) async throws {
        let fault = Fault.reset(.requestBody(after: 8))
        let uploads = try Uploads(version, fault)
        for count in [6, 7, 8] {
            let text = try await uploads.send(count)
            #expect(text == "ok")
        }
        #expect(uploads.server.faults == [])
        await #expect(throws: TrellisError.self) { try await uploads.send(9) }
        #expect(uploads.server.faults.first == fault)
    }

    @Test(arguments: versions)
    func theFaultsOfARequestHappenInTheOrderOfTheirMoments(_ version: HTTPVersionPolicy) async throws {
        func wait(_ moment: Fault.Moment) -> Fault { .latency(.milliseconds(1), moment) }
        let uploads = try Uploads(
            version, wait(.responseHead), wait(.requestBody(after: 3)), wait(.requestBody(after: 0)),
            wait(.requestHead))
        let text = try await uploads.send(6)
        #expect(text == "ok")
        let moments: [Fault.Moment] = [.requestHead, .requestBody(after: 0), .requestBody(after: 3), .responseHead]
        #expect(uploads.server.faults == moments.map(wait))
    }
}
