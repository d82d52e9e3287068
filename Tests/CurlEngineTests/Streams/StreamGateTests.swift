import Testing

@testable import CurlEngine

/// The gate for streams on shared connections. The test takes the part of libcurl.
@Suite(.timeLimit(.minutes(3)), .enabled(if: LibcurlFeatures.current.canMultiplex, "needs libcurl 8.4"))
struct StreamGateTests {
    /// Gates that share a bound, on one engine thread. Every method must be called on that thread.
    final class World: Sendable {
        let run: EngineRun
        let gates: [StreamGate]
        let budget: ConnectionBudget
        let options: TransferOptions
        let others: TransferOptions
        var origin: String { options.url.origin }
        var otherOrigin: String { others.url.origin }

        init(gates: Int = 1, perOrigin: Int = 64, total: Int = 256) throws {
            var configuration = EngineConfiguration()
            configuration.connections = ConnectionBudget(perOrigin: perOrigin, total: total)
            budget = configuration.connections
            let run = EngineRun(configuration)
            self.run = run
            self.gates = (0..<gates).map { _ in
                StreamGate(executor: run.executor, configuration: configuration)
            }
            (options, others) = (try Self.get("http://example.test/"), try Self.get("http://other.test/"))
        }

        private static func get(_ url: String) throws -> TransferOptions {
            TransferOptions(url: try WireURL(parsing: url), method: "GET", version: .http2PriorKnowledge)
        }

        func transfer() -> Transfer { run.engine.makeTransfer(options) }

        /// Returns a transfer to another origin.
        func other() -> Transfer { run.engine.makeTransfer(others) }

        /// Passes a transfer to the gate, which must admit it.
        func admitted(_ gate: Int = 0) -> Transfer {
            let transfer = transfer()
            #expect(gates[gate].admits(transfer))
            return transfer
        }

        /// Sends the request on a connection, as the first attempt or a repetition.
        func connect(_ transfer: Transfer, port: Int32, opens: Bool, _ gate: Int = 0) {
            if opens {
                transfer.connection.hasOpenedSocket = true
                #expect(gates[gate].mayConnect(transfer))
            }
            transfer.attempts += 1
            (transfer.connection.hadStreams, transfer.connection.localPort) = (true, port)
            gates[gate].isConnected(transfer)
        }

        func onEngine(_ body: @escaping @Sendable (World) -> Void) async {
            await run.onEngine { body(self) }
        }
    }

    /// libcurl lets requests of several pools share a connection, for example one that allows only IPv4 and one that allows all addresses.
    @Test func aConnectionIsUsedWhileStreamsOfAnotherPoolAreOnIt() async throws {
        let world = try World()
        await world.onEngine { world in
            let gate = world.gates[0]
            #expect(gate.isUsed(port: 1) == false)
            let first = world.admitted()
            world.connect(first, port: 1, opens: true)
            let second = world.other()
            #expect(gate.admits(second))
            world.connect(second, port: 1, opens: false)
            gate.didEnd(second)
            #expect(gate.isUsed(port: 1) == true)
            gate.didEnd(first)
            #expect(gate.isUsed(port: 1) == false)
        }
        await world.run.finish()
    }

    @Test func aRepetitionLeavesItsConnection() async throws {
        let world = try World(perOrigin: 1)
        await world.onEngine { world in
            let transfer = world.admitted()
            world.connect(transfer, port: 1, opens: true)
            world.connect(transfer, port: 2, opens: true)
            #expect(world.budget.inUseCount(world.origin) == 1)
            world.gates[0].didEnd(transfer)
            #expect(world.budget.inUseCount(world.origin) == 0)
            world.connect(world.admitted(), port: 2, opens: false)
            for _ in 1..<SharedOrigin.assumedLimit { _ = world.admitted() }
        }
        await world.run.finish()
    }

    @Test func aRepetitionTeachesNoLimit() async throws {
        let world = try World()
        await world.onEngine { world in
            let transfers = (0..<3).map { number in
                let transfer = world.admitted()
                world.connect(transfer, port: 1, opens: number == 0)
                return transfer
            }
            world.connect(transfers[0], port: 2, opens: true)
            // The connection that libcurl has left gets no more requests, and the other one has room.
            for _ in 1..<SharedOrigin.assumedLimit {
                world.connect(world.admitted(), port: 2, opens: false)
            }
            #expect(world.budget.inUseCount(world.origin) == 2)
        }
        await world.run.finish()
    }

    @Test func everyEngineAsksForItsFirstConnection() async throws {
        let world = try World(gates: 2, perOrigin: 1)
        await world.onEngine { world in
            let first = world.admitted(0)
            world.connect(first, port: 1, opens: true, 0)
            let waiting = world.transfer()
            #expect(!world.gates[1].admits(waiting))
            world.gates[0].didEnd(first)
        }
        await world.onEngine { world in
            let resumed = world.gates[1].takeResumed()
            #expect(resumed.count == 1)
            for transfer in resumed { #expect(world.gates[1].admits(transfer) && world.gates[1].mayConnect(transfer)) }
            #expect(world.budget.inUseCount(world.origin) == 1)
        }
        await world.run.finish()
    }

    @Test func requestsWaitForTheFirstConnectionAndAreNotConnectedOneByOneAfterItsFailure() async throws {
        let world = try World(perOrigin: 4)
        await world.onEngine { world in
            let first = world.admitted()
            #expect(world.gates[0].mayConnect(first))
            for _ in 0..<10 { #expect(!world.gates[0].admits(world.transfer())) }
            #expect(world.budget.inUseCount(world.origin) == 1)
            world.gates[0].didEnd(first)
            #expect(world.gates[0].takeResumed().count == 4)
            #expect(world.budget.inUseCount(world.origin) == 4)
        }
        await world.run.finish()
    }

    @Test func noTransferPassesInVainWhileTheOriginWaitsForAPlace() async throws {
        let world = try World(gates: 2, perOrigin: 1)
        await world.onEngine { world in
            world.connect(world.admitted(0), port: 1, opens: true, 0)
            for _ in 0..<50 { #expect(!world.gates[1].admits(world.transfer())) }
            #expect(world.gates[1].takeResumed().isEmpty)
            #expect(world.gates[1].waitingCount == 50)
        }
        await world.run.finish()
    }

    @Test func aPlaceWhoseTransfersHaveLeftIsPassedOn() async throws {
        let world = try World(gates: 3, perOrigin: 1)
        await world.onEngine { world in
            let first = world.admitted(0)
            world.connect(first, port: 1, opens: true, 0)
            let waiting = (1...2).map { gate in
                let transfer = world.transfer()
                #expect(!world.gates[gate].admits(transfer))
                return transfer
            }
            waiting[0].isCancelled = true
            world.gates[1].didEnd(waiting[0])
            world.gates[0].didEnd(first)
        }
        // The place reaches the second gate, and then the third.
        await world.onEngine { _ in }
        await world.onEngine { world in
            #expect(world.gates[1].takeResumed().isEmpty)
            #expect(world.gates[2].takeResumed().count == 1)
            #expect(world.budget.inUseCount(world.origin) == 1)
        }
        await world.run.finish()
    }

    /// libcurl has used an idle connection of the second engine without a place, before the engine gets the place for which it waits.
    @Test func aPlaceThatIsOneTooManyIsReturnedAndRequestedAgain() async throws {
        let world = try World(gates: 2, perOrigin: 2)
        await world.onEngine { world in
            let first = (1...2).map { port in
                let transfer = world.admitted(0)
                world.connect(transfer, port: Int32(port), opens: true, 0)
                return transfer
            }
            for _ in 0..<150 { #expect(!world.gates[1].admits(world.transfer())) }
            world.connect(world.transfer(), port: 9, opens: false, 1)
            #expect(world.gates[1].takeResumed().count == SharedOrigin.assumedLimit - 1)
            #expect(world.budget.inUseCount(world.origin) == 3)
            for transfer in first { world.gates[0].didEnd(transfer) }
        }
        await world.onEngine { world in
            // The transfers that wait are worth another connection.
            #expect(world.gates[1].takeResumed().count == 1)
            #expect(world.budget.inUseCount(world.origin) == 2)
        }
        await world.run.finish()
    }

    /// The second engine has returned places, after libcurl has used an idle connection of the first one without a place.
    @Test func anEngineTakesPlacesAgainAfterOthersHaveReturnedTheirs() async throws {
        let world = try World(gates: 2, perOrigin: 3)
        await world.onEngine { world in
            world.connect(world.admitted(), port: 1, opens: true)
            let others = (2...3).map { port in
                let transfer = world.admitted(1)
                world.connect(transfer, port: Int32(port), opens: true, 1)
                return transfer
            }
            world.connect(world.transfer(), port: 9, opens: false)
            #expect(world.budget.inUseCount(world.origin) == 4)
            for port: Int32 in [1, 9] {
                for _ in 1..<SharedOrigin.assumedLimit { world.connect(world.admitted(), port: port, opens: false) }
            }
            let waiting = world.transfer()
            #expect(!world.gates[0].admits(waiting))
            // No other engine tells the first one when it returns a place.
            #expect(world.run.executor.engineLoop.nextTimer != nil)
            world.gates[0].timerIsDue()
            #expect(world.gates[0].takeResumed().isEmpty)
            for transfer in others { world.gates[1].didEnd(transfer) }
            world.gates[0].timerIsDue()
            #expect(world.gates[0].takeResumed() == [waiting])
            #expect(world.budget.inUseCount(world.origin) == 3)
        }
        await world.run.finish()
    }

    /// A place that was awaited is one for the first connection, so that no limit is left at the end of the wait.
    @Test func theWaitForAPlaceIsNoTimeOfConnecting() async throws {
        let world = try World(total: 1)
        let waiting = Locked<[Transfer]>([])
        await world.onEngine { world in
            let first = world.admitted()
            world.connect(first, port: 1, opens: true)
            let others = (0..<2).map { _ in world.other() }
            for transfer in others { #expect(!world.gates[0].admits(transfer) && transfer.place.waitEnd == nil) }
            waiting.withLock { $0 = others }
            world.gates[0].didEnd(first)
        }
        await world.onEngine { world in
            let transfers = waiting.withLock { $0 }
            #expect(world.gates[0].takeResumed() == [transfers[0]])
            #expect(transfers[0].place.waitEnd != nil)
            // The second transfer waits for the connection of the first one, and its own connecting counts from now on.
            #expect(transfers[1].place.use == .waiting)
            #expect(world.gates[0].connectStart(transfers[1]) != nil)
        }
        await world.run.finish()
    }

    @Test func cancelledTransfersAreReleased() async throws {
        /// A reference that does not keep its transfer.
        struct Reference { weak var transfer: Transfer? }
        let world = try World(perOrigin: 1)
        await world.onEngine { world in
            #expect(world.gates[0].mayConnect(world.admitted()))
            let references = (0..<98).map { _ in
                let transfer = world.transfer()
                #expect(!world.gates[0].admits(transfer))
                transfer.isCancelled = true
                world.gates[0].didEnd(transfer)
                return Reference(transfer: transfer)
            }
            #expect(references.count { $0.transfer != nil } <= 65)
        }
        await world.run.finish()
    }

    // MARK: Fairness over engines

    /// Keeps a gate's connection busy: each stream ends only after the next one has begun, if the gate admits that one. Returns the
    /// transfers that the gate has not admitted.
    private static func keepBusy(_ world: World, _ first: Transfer, rounds: Int) -> [Transfer] {
        var (running, waiting) = ([first], [Transfer]())
        for _ in 0..<rounds {
            let next = world.transfer()
            if world.gates[0].admits(next) {
                world.connect(next, port: 1, opens: false)
                running.append(next)
            } else {
                waiting.append(next)
            }
            if let ended = running.first {
                running.removeFirst()
                world.gates[0].didEnd(ended)
            }
        }
        return waiting
    }

    @Test func anEngineWithoutAConnectionGetsItsTurn() async throws {
        let world = try World(gates: 2, perOrigin: 1)
        let running = Locked<[Transfer]>([])
        await world.onEngine { world in
            let first = world.admitted(0)
            world.connect(first, port: 1, opens: true, 0)
            running.withLock { $0 = [first] }
            #expect(!world.gates[1].admits(world.transfer()))
        }
        // The first gate is notified before it gets more transfers.
        let waiting = Locked<[Transfer]>([])
        await world.onEngine { world in
            let first = running.withLock { $0[0] }
            let left = Self.keepBusy(world, first, rounds: 10)
            waiting.withLock { $0 = left }
        }
        await world.onEngine { world in
            let resumed = world.gates[1].takeResumed()
            #expect(resumed.count == 1)
            for transfer in resumed {
                #expect(world.gates[1].admits(transfer))
                world.connect(transfer, port: 2, opens: true, 1)
                #expect(world.budget.inUseCount(world.origin) == 1)
                world.gates[1].didEnd(transfer)
            }
        }
        // The first engine gets its next turn, with all transfers that have waited.
        await world.onEngine { world in
            #expect(!waiting.withLock { $0.isEmpty })
            for transfer in world.gates[0].takeResumed() {
                #expect(world.gates[0].admits(transfer))
                world.connect(transfer, port: 3, opens: true)
            }
            #expect(world.gates[0].takeResumed().count == waiting.withLock { $0.count } - 1)
        }
        await world.run.finish()
    }

    @Test func anOriginWithoutAConnectionGetsItsTurn() async throws {
        let world = try World(gates: 2, perOrigin: 4, total: 1)
        let first = Locked<Transfer?>(nil)
        await world.onEngine { world in
            let transfer = world.admitted(0)
            world.connect(transfer, port: 1, opens: true, 0)
            first.withLock { $0 = transfer }
            #expect(!world.gates[0].admits(world.other()))
        }
        await world.onEngine { world in
            if let transfer = first.withLock({ $0 }) { _ = Self.keepBusy(world, transfer, rounds: 10) }
        }
        await world.onEngine { world in
            #expect(world.budget.inUseCount(world.otherOrigin) == 1)
            #expect(world.gates[0].takeResumed().count == 1)
        }
        await world.run.finish()
    }

    /// A request that lasts long keeps its connection, so that streams are withheld from the other requests only for a time.
    @Test func streamsAreNotWithheldForever() async throws {
        let origin = SharedOrigin("http://example.test")
        let start = EngineInstant(nanoseconds: 1)
        _ = origin.beginStream(on: 1, isNew: false, scope: 0, now: start)
        origin.owe(1)
        func isWithheld(after seconds: Int) -> Bool {
            origin.withheldRoom(start.advanced(by: .seconds(seconds))) > 0
        }
        #expect([0, 1, 2, 3, 4, 5, 8, 9].map(isWithheld) == [true, false, false, true, true, false, false, true])
        origin.owe(0)
        #expect(!isWithheld(after: 9))
    }

    // MARK: New connections

    /// libcurl uses its oldest connection with room, so that a transfer does not wait for a new one whose limit is not known yet.
    @Test func aStreamOfAnOlderConnectionIsUsedWhileANewOneSettles() async throws {
        let world = try World(perOrigin: 4)
        await world.onEngine { world in
            let first = world.admitted()
            world.connect(first, port: 1, opens: true)
            world.connect(world.admitted(), port: 1, opens: false)
            world.connect(world.admitted(), port: 2, opens: true)
            world.gates[0].isAnswered(first)
            // Transfers that would use the new connection wait.
            #expect(!world.gates[0].admits(world.transfer()))
            world.gates[0].didEnd(first)
            #expect(world.gates[0].takeResumed().count == 1)
            #expect(!world.gates[0].admits(world.transfer()))
        }
        await world.run.finish()
    }
}
