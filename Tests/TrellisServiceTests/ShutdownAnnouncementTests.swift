#if Service
import ServiceLifecycle
import Testing
import TrellisCore
import TrellisService
import TrellisTesting

/// The announcement at the beginning of a graceful shutdown, and what works during it.
@Suite(.timeLimit(.minutes(3)))
struct ShutdownAnnouncementTests {
    private let clock = TestClock()

    /// Starts the graceful shutdown of a group, and waits for its announcement.
    private func shutDown(_ world: ServiceWorld, _ announcement: ShutdownAnnouncement) async {
        await world.group.triggerGracefulShutdown()
        while !announcement.hasBegun, !Task.isCancelled { await Task.yield() }
    }

    @Test func theServicesBeforeItWorkUntilItsEnd() async throws {
        let announcement = ShutdownAnnouncement(for: .seconds(5), clock: clock)
        let world = ServiceWorld(after: { _ in [announcement] })
        let run = world.run()
        #expect(try await world.session.string("http://localhost/") == "done")
        #expect(!announcement.hasBegun)
        await shutDown(world, announcement)
        #expect(announcement.hasBegun)
        clock.move(by: .seconds(5) - .nanoseconds(1))
        for _ in 0..<100 { await Task.yield() }
        #expect(world.session.health == .running)
        #expect(try await world.session.string("http://localhost/") == "done")
        clock.move(by: .nanoseconds(1))
        try await run.value
        #expect(world.session.health == .ended)
        #expect(announcement.hasBegun)
    }

    @Test func aRequestInFlightAtItsEndIsDrained() async throws {
        let announcement = ShutdownAnnouncement(for: .seconds(5), clock: clock)
        let world = ServiceWorld(after: { _ in [announcement] })
        let run = world.run()
        let request = try await world.slowRequest()
        await shutDown(world, announcement)
        clock.move(by: .seconds(5))
        while world.session.health != .draining(requests: 1), !Task.isCancelled { await Task.yield() }
        world.answers.open()
        #expect(try await request.value == "done")
        try await run.value
    }

    @Test(arguments: [Duration.zero, .seconds(-1)])
    func anAnnouncementOfNoTimeEndsAtOnce(_ duration: Duration) async throws {
        let announcement = ShutdownAnnouncement(for: duration, clock: clock)
        let world = ServiceWorld(after: { _ in [announcement] })
        let run = world.run()
        await world.group.triggerGracefulShutdown()
        try await run.value
        #expect(announcement.hasBegun)
    }

    /// The system's clock cannot represent the end of the longest duration.
    @Test(arguments: [nil, .seconds(Int64.max)] as [Duration?])
    func aCancellationEndsIt(_ longest: Duration?) async throws {
        let announcement =
            longest.map { ShutdownAnnouncement(for: $0) } ?? ShutdownAnnouncement(for: .seconds(5), clock: clock)
        let world = ServiceWorld(after: { _ in [announcement] })
        let run = world.run()
        await shutDown(world, announcement)
        run.cancel()
        try await run.value
        #expect(world.session.health == .ended)
    }

    @Test func aCancellationWithoutAShutdownIsAnEndToo() async {
        let announcement = ShutdownAnnouncement(clock: clock)
        let run = Task { await announcement.run() }
        run.cancel()
        await run.value
        #expect(announcement.hasBegun)
    }

    @Test func itTakesFiveSecondsByDefault() {
        #expect(ShutdownAnnouncement().duration == .seconds(5))
    }
}
#endif
