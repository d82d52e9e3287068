import Testing

@testable import CurlEngine

/// The gate for connections to one of several addresses of a server.
extension StreamGateTests {
    /// Returns the options of requests to each of two addresses.
    private static func options(_ url: WireURL) -> [TransferOptions] {
        var parts = TransferRoute.Parts()
        parts.addresses = .found(name: "example.test")
        let whole = TransferRoute(parts)
        return ["192.0.2.1", "192.0.2.2"].map { address in
            parts.addresses = .fixed([address])
            return TransferOptions(
                url: url, route: TransferRoute(parts, of: whole), method: "GET", version: .http2PriorKnowledge)
        }
    }

    /// The connection to one address of a server has no room for requests to another one, and counts towards the limit of both.
    @Test func theAddressesOfAServerShareALimit() async throws {
        let world = try World(perOrigin: 1)
        let options = Self.options(world.options.url)
        let limitName = options[0].limitName
        #expect(options[1].limitName == limitName && options[1].pool != options[0].pool)
        await world.onEngine { world in
            let first = world.run.engine.makeTransfer(options[0])
            #expect(world.gates[0].admits(first))
            world.connect(first, port: 1, opens: true)
            #expect(!world.gates[0].admits(world.run.engine.makeTransfer(options[1])))
            #expect(world.budget.inUseCount(limitName) == 1)
            world.gates[0].didEnd(first)
        }
        await world.onEngine { world in
            let resumed = world.gates[0].takeResumed()
            #expect(resumed.count == 1)
            for transfer in resumed { #expect(world.gates[0].admits(transfer) && world.gates[0].mayConnect(transfer)) }
            #expect(world.budget.inUseCount(limitName) == 1)
            _ = world.gates[0].close()
            #expect(world.budget.inUseCount(limitName) == 0)
        }
        await world.run.finish()
    }

    /// The engine has closed its connections while a place was on its way, and waits for the same address again.
    @Test func aPlaceOfAPoolThatWasForgottenIsReturned() async throws {
        let world = try World(gates: 2, perOrigin: 1)
        let options = Self.options(world.options.url)[0]
        await world.onEngine { world in
            let holder = world.run.engine.makeTransfer(options)
            #expect(world.gates[0].admits(holder))
            world.connect(holder, port: 1, opens: true)
            let early = world.run.engine.makeTransfer(options)
            #expect(!world.gates[1].admits(early))
            world.gates[1].didEnd(early)
            _ = world.gates[1].close()
            #expect(!world.gates[1].admits(world.run.engine.makeTransfer(options)))
            world.gates[0].didEnd(holder)
        }
        await world.onEngine { _ in }
        await world.onEngine { world in
            for transfer in world.gates[1].takeResumed() {
                #expect(world.gates[1].admits(transfer) && world.gates[1].mayConnect(transfer))
                world.connect(transfer, port: 2, opens: true, 1)
                world.gates[1].didEnd(transfer)
            }
            #expect(world.budget.inUseCount(options.limitName) == 0)
            let holder = world.run.engine.makeTransfer(options)
            #expect(world.gates[0].admits(holder))
            world.connect(holder, port: 3, opens: true)
            #expect(!world.gates[1].admits(world.run.engine.makeTransfer(options)))
        }
        await world.onEngine { world in
            // The gate with the place is asked for it.
            #expect(world.gates[0].origins[options.pool]?.permits.owed == 1)
            for gate in world.gates { _ = gate.close() }
        }
        // The place of the first gate was on its way to the second one.
        await world.onEngine { world in #expect(world.budget.inUseCount(options.limitName) == 0) }
        await world.run.finish()
    }
}
