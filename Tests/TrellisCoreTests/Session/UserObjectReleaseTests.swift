import CurlEngine
import Dispatch
import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// No `deinit` of a user's object runs on an engine thread, even if the engine had the last reference to it.
@Suite(.timeLimit(.minutes(3)))
struct UserObjectReleaseTests {
    /// A record of the threads on which objects were released.
    private final class Releases: Sendable {
        private let wereOnEngine = Locked<[Bool]>([])
        let hasReleased = LoopbackServer.Gate()

        func record() {
            wereOnEngine.withLock { $0.append(CallingThread.isEngine) }
            hasReleased.open()
        }

        var all: [Bool] { wereOnEngine.withLock { $0 } }
    }

    /// An object of the user's, which closures use.
    private final class Witness: Sendable {
        private let releases: Releases

        init(_ releases: Releases) { self.releases = releases }

        deinit { releases.record() }

        func passing(_ request: Request) -> Request { request }
        func check() {}
        var fields: HTTPFields { [:] }
        var chunks: AsyncStream<Data> { AsyncStream { $0.finish() } }
        var adapter: Adapter { Adapter { request, _ in self.passing(request) } }
    }

    /// The owners of objects of the user's.
    enum Owner: CaseIterable, Sendable { case request, steps, trailers, body, streamedBody, validators, session }

    private static func owner(_ kind: Owner, of witness: Witness) -> any Sendable {
        var request = Request("http://a.example/")
        switch kind {
        case .request: return request.withAdapter(witness.adapter)
        case .steps:
            var steps = Steps()
            steps.adapters.append(witness.adapter)
            return AttachedSteps(steps)
        case .trailers:
            request.trailers = { witness.fields }
            return request
        case .body:
            request.body = .stream(makingChunks: { witness.chunks })
            return request
        case .streamedBody:
            return PreparedRequest.StreamedBody(length: nil, isReplayable: false) { _ in witness.check() }
        case .validators:
            let validation = Validation().adding(Validator { _, _, _ in witness.check() })
            return [ReadingConditions.of(validation, withDefaults: false)]
        case .session:
            var configuration = SessionConfiguration()
            configuration.steps.adapters.append(witness.adapter)
            return Session(configuration: configuration, transport: MockTransport { _ in .text("hello") })
        }
    }

    @Test(arguments: Owner.allCases)
    func theObjectsOfAnOwnerThatAnEngineReleasesAreReleasedOnThePool(_ kind: Owner) async throws {
        let engine = EngineExecutor(), releases = Releases()
        let kept = Locked<(any Sendable)?>(Self.owner(kind, of: Witness(releases)))
        engine.submit { kept.withLock { $0 = nil } }
        try await releases.hasReleased.opened()
        #expect(releases.all == [false])
        await engine.shutDown()
    }

    private static func drop(_ witness: Witness, _ session: Session) {
        _ = session.request(Request("http://a.example/").withAdapter(witness.adapter))
    }

    /// The engine is busy until the handle is gone, and so has the last reference to the request.
    @Test func theObjectsOfAHandleThatNothingAwaitedAreReleasedOnThePool() async throws {
        let releases = Releases(), isHeld = LoopbackServer.Gate(), mayRun = DispatchSemaphore(value: 0)
        var configuration = SessionConfiguration()
        configuration.engines = .one
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("hello") })
        session.engine.submit {
            isHeld.open()
            mayRun.waitForTest()
        }
        try await isHeld.opened()
        Self.drop(Witness(releases), session)
        #expect(releases.all == [])
        mayRun.signal()
        try await releases.hasReleased.opened()
        #expect(releases.all == [false])
        await session.shutdown()
    }
}
