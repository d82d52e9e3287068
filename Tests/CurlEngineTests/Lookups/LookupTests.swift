import Foundation
import Testing
import TrellisCore
import TrellisTesting

@testable import CurlEngine

/// The lookups of host names are bounded, and shared by the transfers with the same name. The resolver is the real one, and its server
/// answers when the test wants it to. Each test has its own process, because the configuration of the resolver belongs to the process.
@Suite(.timeLimit(.minutes(2)), .enabled(if: NameServer.isAvailable, "needs root, for a resolver configuration"))
struct LookupTests {
    private typealias World = LookupWorld

    @Test func atMostSixteenLookupsRunAtOnceAndEqualNamesShareOne() async {
        await #expect(processExitsWith: .success) {
            let world = try await World()
            let options = try (0..<80).map { try world.getOverIPv4("h\($0 % 40)") }
            let ends = await withTaskGroup { group in
                for options in options { group.addTask { await world.runs[0].perform(options).text } }
                await world.names.untilAsked(16)
                while world.limit.waitingCount < 24, !Task.isCancelled { await Task.yield() }
                expectInProcess(world.limit.runningCount == 16)
                expectInProcess(world.names.names.count == 16)
                world.names.releaseHeld()
                await world.names.untilAsked(32)
                world.names.release()
                return await group.reduce(into: [String]()) { $0.append($1) }
            }
            expectInProcess(ends == Array(repeating: "hello", count: 80), "\(ends)")
            expectInProcess(world.names.peak <= 16, "\(world.names.peak) at once")
            expectInProcess(Set(world.names.names).count == 40 && world.names.names.count == 40, "\(world.names.names)")
            await world.untilNoneRuns()
            await world.finish()
        }
    }

    @Test func twoEnginesShareTheBound() async {
        await #expect(processExitsWith: .success) {
            let world = try await World(engines: 2)
            let options = try (0..<40).map { try world.get("h\($0)") }
            let ends = await withTaskGroup { group in
                for (number, options) in options.enumerated() {
                    group.addTask { await world.runs[number % 2].perform(options).text }
                }
                await world.names.untilAsked(16)
                while world.limit.waitingCount < 24, !Task.isCancelled { await Task.yield() }
                expectInProcess(world.names.names.count == 16)
                world.names.release()
                return await group.reduce(into: [String]()) { $0.append($1) }
            }
            expectInProcess(ends == Array(repeating: "hello", count: 40), "\(ends)")
            expectInProcess(world.names.peak <= 16, "\(world.names.peak) at once")
            await world.untilNoneRuns()
            await world.finish()
        }
    }

    @Test func anEngineThatEndsReturnsItsTurns() async {
        await #expect(processExitsWith: .success) {
            let world = try await World(engines: 2)
            let options = try (0..<20).map { try world.get("h\($0)") }
            await world.runs[0].onEngine {
                for options in options { world.runs[0].start(options, EngineRun.Outcome()) }
            }
            await world.names.untilAsked(16)
            let other = try world.get("other")
            async let end = world.runs[1].perform(other).text
            while world.limit.waitingCount < 5, !Task.isCancelled { await Task.yield() }
            await world.runs[0].finish()
            await world.names.untilAsked(17)
            expectInProcess(world.names.names.last == "other.lookup.test")
            world.names.release()
            expectInProcess(await end == "hello")
            await world.untilNoneRuns()
            await world.finish()
        }
    }

    /// A lookup for which no transfer waits holds no place, and serves those that come before its end.
    @Test func aCancelledLookupHoldsNoPlaceAndServesOthers() async {
        await #expect(processExitsWith: .success) {
            let world = try await World()
            let run = world.runs[0]
            let options = try (0..<17).map { try world.getOverIPv4("h\($0)") }
            await run.onEngine {
                let outcomes = options.map { _ in EngineRun.Outcome() }
                for (options, outcome) in zip(options, outcomes) { run.start(options, outcome) }
                run.executor.submit { run.executor.submit { for outcome in outcomes { outcome.transfer?.cancel() } } }
            }
            await world.names.untilAsked(16)
            // A lookup that others wait for keeps its place, so they come after the cancellations.
            await world.untilNoneRuns()
            let (known, new) = (options[0], try world.get("new"))
            async let first = run.perform(known).text
            async let second = run.perform(new).text
            await world.names.untilAsked(17)
            while await run.onEngine({ run.engine.lookups.waitingCount }) < 1, !Task.isCancelled { await Task.yield() }
            while world.limit.runningCount != 1, !Task.isCancelled { await Task.yield() }
            world.names.release()
            let texts = await [first, second]
            expectInProcess(texts == ["hello", "hello"], "\(texts)")
            let asked = world.names.names
            expectInProcess(asked.count == 17 && asked.last == "new.lookup.test", "\(asked)")
            expectInProcess(world.server.acceptedCount == 2, "\(world.server.acceptedCount) connections")
            await world.finish()
        }
    }

    @Test func aFailedLookupFailsAllThatShareIt() async {
        await #expect(processExitsWith: .success) {
            let world = try await World()
            let options = try world.get("missing")
            let kinds = await withTaskGroup { group in
                for _ in 0..<10 { group.addTask { await world.runs[0].perform(options).end?.failure?.kind } }
                await world.names.untilAsked(1)
                while await world.runs[0].onEngine({ world.runs[0].engine.lookups.waitingCount }) < 9, !Task.isCancelled
                {
                    await Task.yield()
                }
                world.names.release()
                return await group.reduce(into: [EngineFailure.Kind?]()) { $0.append($1) }
            }
            expectInProcess(kinds == Array(repeating: .nameResolution, count: 10), "\(kinds)")
            expectInProcess(world.names.names.count == 1, "\(world.names.names)")
            await world.finish()
        }
    }

    @Test func aNameThatIsKnownIsNotLookedUpAgain() async {
        await #expect(processExitsWith: .success) {
            let world = try await World()
            world.names.release()
            let options = try world.getOverIPv4("h")
            for _ in 0..<3 { _ = await world.runs[0].perform(options) }
            let texts = await withTaskGroup { group in
                for _ in 0..<20 { group.addTask { await world.runs[0].perform(options).text } }
                return await group.reduce(into: [String]()) { $0.append($1) }
            }
            expectInProcess(texts == Array(repeating: "hello", count: 20))
            expectInProcess(world.names.names.count == 1, "\(world.names.names)")
            await world.finish()
        }
    }

    /// Names that take long to resolve do not delay requests on a kept connection, although the name of its host is not known any more.
    @Test func aKeptConnectionNeedsNoTurn() async {
        await #expect(processExitsWith: .success) {
            let world = try await World()
            let run = world.runs[0]
            await run.onEngine { run.engine.lookups.knownAge = .zero }
            async let first = run.perform(world.get("kept")).text
            await world.names.untilAsked(1)
            world.names.releaseHeld()
            expectInProcess(try await first == "hello")
            let options = try (0..<16).map { try world.get("h\($0)") }
            await run.onEngine { for options in options { run.start(options, EngineRun.Outcome()) } }
            await world.names.untilAsked(17)
            let text = Locked<String?>(nil)
            let kept = try world.get("kept")
            let task = Task {
                let end = await run.perform(kept).text
                text.withLock { $0 = end }
            }
            while world.limit.waitingCount == 0, text.withLock({ $0 == nil }), !Task.isCancelled { await Task.yield() }
            expectInProcess(text.withLock { $0 } == "hello", "waits for a turn")
            expectInProcess(world.limit.runningCount == 16)
            world.names.release()
            await task.value
            await world.finish()
        }
    }

    /// A transfer that waits for a turn takes a connection to its origin that becomes idle in the meantime.
    @Test func aConnectionThatBecomesIdleEndsTheWaitForATurn() async {
        await #expect(processExitsWith: .success) {
            let mayAnswer = LoopbackServer.Gate()
            let world = try await World { connection in
                guard try connection.nextRequest()?.path == "/held" else { return try connection.write(World.hello) }
                try connection.wait(for: mayAnswer)
                try connection.write(World.hello)
                _ = try connection.nextRequest()
                try connection.write(World.hello)
            }
            let run = world.runs[0]
            await run.onEngine { run.engine.lookups.knownAge = .zero }
            let held = try world.get("kept", path: "/held"), kept = try world.get("kept")
            async let first = run.perform(held).text
            await world.names.untilAsked(1)
            world.names.releaseHeld()
            try await world.server.waitUntilRequested(count: 1)
            let options = try (0..<16).map { try world.get("h\($0)") }
            await run.onEngine { for options in options { run.start(options, EngineRun.Outcome()) } }
            await world.names.untilAsked(17)
            let text = Locked<String?>(nil)
            let task = Task {
                let end = await run.perform(kept).text
                text.withLock { $0 = end }
            }
            while world.limit.waitingCount == 0, !Task.isCancelled { await Task.yield() }
            mayAnswer.open()
            expectInProcess(await first == "hello")
            expectInProcess(await run.onEngine { run.engine.lookups.waitingCount } == 0, "still waits for a turn")
            await task.value
            expectInProcess(text.withLock { $0 } == "hello")
            world.names.release()
            await world.finish()
        }
    }

    @Test func aTimeoutSaysThatTheLookupWaited() async {
        await #expect(processExitsWith: .success) {
            let names = try NameServer()
            let clock = TestClock()
            let session = Session(clock: clock)
            try await withTaskExecutorPreference(session.executor) {
                await Task.yield()
                try NameServer.use()
            }
            let first = (0..<16).map { number in
                Task {
                    var request = Request("http://h\(number).lookup.test/")
                    request.timeouts = Timeouts(connect: .seconds(3600))
                    _ = try await session.data(request)
                }
            }
            await names.untilAsked(16)
            let last = Task { () -> String in
                do {
                    _ = try await session.data("http://h16.lookup.test/")
                    return "no error"
                } catch let error as TrellisError { return error.detail ?? "no detail" }
            }
            while await session.liveRequestCount < 17, !Task.isCancelled { await Task.yield() }
            await session.settle()
            clock.move(by: .seconds(60))
            let detail = try await last.value
            let text = "the lookup of the name h16.lookup.test waits, because 16 others are running"
            expectInProcess(detail == text, detail)
            for task in first { task.cancel() }
            names.release()
            await session.shutdown()
        }
    }
}
