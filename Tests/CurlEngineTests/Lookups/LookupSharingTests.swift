import Testing
import TrellisTesting

@testable import CurlEngine

/// The engines of a session share lookups of host names. Each test has its own process, like those of ``LookupTests``.
@Suite(.timeLimit(.minutes(2)), .enabled(if: NameServer.isAvailable, "needs root, for a resolver configuration"))
struct LookupSharingTests {
    @Test func equalNamesOfSeveralEnginesShareOneLookup() async {
        await #expect(processExitsWith: .success) {
            let world = try await LookupWorld(engines: 2)
            let options = try world.getOverIPv4("h")
            let ends = await withTaskGroup { group in
                for number in 0..<8 { group.addTask { await world.runs[number % 2].perform(options).text } }
                await world.names.untilAsked(1)
                await world.untilWaiting(7)
                expectInProcess(world.limit.runningCount == 1, "\(world.limit.runningCount)")
                world.names.release()
                return await group.reduce(into: [String]()) { $0.append($1) }
            }
            expectInProcess(ends == Array(repeating: "hello", count: 8), "\(ends)")
            expectInProcess(world.names.names == ["h.lookup.test"], "\(world.names.names)")
            await world.untilNoneRuns()
            await world.finish()
        }
    }

    @Test func anEngineUsesTheAddressesThatAnotherOneHasLookedUp() async {
        await #expect(processExitsWith: .success) {
            let world = try await LookupWorld(engines: 2)
            world.names.release()
            let options = try world.getOverIPv4("h")
            for run in world.runs {
                let text = await run.perform(options).text
                expectInProcess(text == "hello", text)
            }
            expectInProcess(world.names.names == ["h.lookup.test"], "\(world.names.names)")
            expectInProcess(world.server.acceptedCount == 2, "\(world.server.acceptedCount) connections")
            await world.finish()
        }
    }

    @Test func aFailedLookupFailsTheTransfersOfAllEngines() async {
        await #expect(processExitsWith: .success) {
            let world = try await LookupWorld(engines: 2)
            let options = try world.get("missing")
            let kinds = await withTaskGroup { group in
                for number in 0..<6 {
                    group.addTask { await world.runs[number % 2].perform(options).end?.failure?.kind }
                }
                await world.names.untilAsked(1)
                await world.untilWaiting(5)
                world.names.release()
                return await group.reduce(into: [EngineFailure.Kind?]()) { $0.append($1) }
            }
            expectInProcess(kinds == Array(repeating: .nameResolution, count: 6), "\(kinds)")
            expectInProcess(world.names.names.count == 1, "\(world.names.names)")
            await world.untilNoneRuns()
            await world.finish()
        }
    }

    @Test func aLookupWhoseTransferIsCancelledServesAnotherEngine() async {
        await #expect(processExitsWith: .success) {
            let world = try await LookupWorld(engines: 2)
            let options = try world.getOverIPv4("h")
            let outcome = EngineRun.Outcome()
            await world.runs[0].onEngine { world.runs[0].start(options, outcome) }
            await world.names.untilAsked(1)
            async let end = world.runs[1].perform(options).text
            await world.untilWaiting(1)
            await world.runs[0].onEngine { outcome.transfer?.cancel() }
            world.names.release()
            let text = await end
            expectInProcess(text == "hello", text)
            expectInProcess(world.names.names.count == 1, "\(world.names.names)")
            await world.finish()
        }
    }

    @Test func anEngineThatEndsLeavesItsLookupToAnother() async {
        await #expect(processExitsWith: .success) {
            let world = try await LookupWorld(engines: 2)
            let options = try world.get("h")
            await world.runs[0].onEngine { world.runs[0].start(options, EngineRun.Outcome()) }
            await world.names.untilAsked(1)
            async let end = world.runs[1].perform(options).text
            await world.untilWaiting(1)
            await world.runs[0].finish()
            await world.names.untilAsked(2)
            world.names.release()
            let text = await end
            expectInProcess(text == "hello", text)
            await world.untilNoneRuns()
            await world.finish()
        }
    }
}
