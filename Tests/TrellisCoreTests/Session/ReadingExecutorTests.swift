import CurlEngine
import FoundationEssentials
import Synchronization
import Testing
import TrellisTesting

@testable import TrellisCore

/// The executor on which validators and serializers run, and the number of hops to get there.
@Suite(.timeLimit(.minutes(3)))
struct ReadingExecutorTests {
    /// The executor on which a closure ran.
    struct Place: Sendable, Equatable {
        let isOnEngine: Bool
        let isOnHome: Bool

        static let pool = Place(isOnEngine: false, isOnHome: false)
    }

    /// An actor with a thread of its own, like the main actor.
    private actor Home {
        nonisolated let executor = EngineExecutor()
        nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
        func run(_ body: () async throws -> Void) async rethrows {
            // Without a statement here, the compiler leaves the hop to `body`, which does not hop.
            #expect(executor.isCurrent)
            try await body()
        }
    }

    /// A decoder that records its executor.
    private struct Locating: DataDecoder {
        let test: ReadingExecutorTests
        func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
            test.note()
            return try JSONDecoder().decode(type, from: data)
        }
    }

    private final class Places: Sendable {
        private let places = Locked<[Place]>([])
        func add(_ place: Place) { places.withLock { $0.append(place) } }
        var all: [Place] { places.withLock { $0 } }
    }

    private let session: Session
    private let home = Home()
    private let places = Places()

    init() { self.init(status: 200) }

    private init(status: Int = 200, engines: EngineCount = .one) {
        var configuration = SessionConfiguration()
        configuration.engines = engines
        session = Session(
            configuration: configuration, transport: MockTransport { _ in .json("[1]", status: status) })
    }

    private var place: Place {
        Place(isOnEngine: CallingThread.isEngine && !home.executor.isCurrent, isOnHome: home.executor.isCurrent)
    }

    private func note() { places.add(place) }

    /// Reads responses through every validator and serializer: three validations and five decodings.
    private nonisolated(nonsending) func readAll() async throws {
        let decoder = Locating(test: self)
        let request = session.request("http://a.example/").validate { _, _, _ in note() }
        #expect(try await request.decode([Int].self, decoder: decoder) == [1])
        #expect(try await request.response(of: [Int].self, decoder: decoder).value == [1])
        #expect(try await request.data() == Data("[1]".utf8))
        #expect(try await session.decode([Int].self, from: "http://a.example/", decoder: decoder) == [1])
        #expect(
            try await session.request("http://a.example/").decode(
                [Int].self, orError: Empty.self, decoder: decoder) == [1])
        let custom = CustomResponseSerializer { _, _, _ in note() }
        try await session.request("http://a.example/").serialize(with: custom)
    }

    private func expectPool() {
        #expect(places.all.count == 8)
        #expect(places.all.allSatisfy { $0 == .pool })
    }

    @Test func fromThePool() async throws {
        try await readAll()
        expectPool()
    }

    @Test func fromATaskThatPrefersTheSessionsExecutor() async throws {
        try await Task(executorPreference: session.engine) {
            // Without this check the test would prove nothing.
            #expect(place.isOnEngine)
            try await readAll()
            #expect(place.isOnEngine, "and back")
        }.value
        expectPool()
    }

    @Test func fromATaskThatPrefersTheExecutorOfAnotherEngine() async throws {
        let test = ReadingExecutorTests(engines: .fixed(2))
        try await Task(executorPreference: test.session.executors[1]) {
            #expect(test.place.isOnEngine)
            try await test.readAll()
            #expect(test.place.isOnEngine, "and back")
        }.value
        test.expectPool()
    }

    @Test func fromAnActor() async throws {
        try await home.run {
            #expect(place.isOnHome)
            try await readAll()
            #expect(place.isOnHome, "and back")
        }
        expectPool()
    }

    @Test func theErrorOfTheServerIsDecodedThereToo() async throws {
        let test = ReadingExecutorTests(status: 400)
        let (session, decoder) = (test.session, Locating(test: test))
        let problem = await Task(executorPreference: session.engine) {
            await #expect(throws: ErrorResponse<[Int]>.self) {
                try await session.decode(Empty.self, from: "http://a.example/", orError: [Int].self, decoder: decoder)
            }
        }.value
        #expect(problem?.body == [1])
        #expect(test.places.all == [.pool])
    }

    // MARK: Hops

    /// An executor that runs jobs on the pool, and counts the jobs.
    private final class CountingExecutor: TaskExecutor {
        private let counter = Atomic(0)
        var count: Int { counter.load(ordering: .sequentiallyConsistent) }

        func enqueue(_ job: consuming ExecutorJob) {
            counter.add(1, ordering: .sequentiallyConsistent)
            let job = UnownedJob(job)
            let executor = unsafe asUnownedTaskExecutor()
            Task.detached { unsafe job.runSynchronously(on: executor) }
        }
    }

    private func hops(_ body: @escaping @Sendable (Session) async throws -> Void) async throws -> Int {
        let executor = CountingExecutor()
        let session = session
        try await Task(executorPreference: executor) { try await body(session) }.value
        return executor.count
    }

    @Test func decodingCostsNoHopThatTheBytesDoNotCost() async throws {
        // Two hops at most: one starts the task, and one continues with the response, unless the response came before the task
        // could wait for it.
        #expect(try await hops { _ = try await $0.data("http://a.example/") } <= 2)
        #expect(try await hops { _ = try await $0.decode([Int].self, from: "http://a.example/") } <= 2)
        #expect(try await hops { _ = try await $0.request("http://a.example/").decode([Int].self) } <= 2)
        #expect(try await hops { _ = try await $0.request("http://a.example/").validate().response(of: .string) } <= 2)
    }
}
