import CurlEngine
import FoundationEssentials
import Testing
import TrellisTesting

@testable import TrellisCore

/// Calls that leave a refresh, and refreshes that hang, end too late or are no longer needed.
@Suite(.timeLimit(.minutes(3)))
struct RefreshEndTests {
    /// A server and session whose refresh begins and ends with gates, and ignores its cancellation.
    struct Gated {
        let begun = LoopbackServer.Gate(), end = LoopbackServer.Gate(), ended = LoopbackServer.Gate()
        let world: TokenWorld

        init(timeout: Duration? = nil) {
            world = TokenWorld(
                accepting: ["token-1", "token-2", "set"], credential: Token("old", requiresRefresh: true),
                timeout: timeout
            ) { [begun, end, ended] number in
                guard number == 1 else { return Token("token-\(number)") }
                begun.open()
                await Task { try? await end.opened() }.value
                defer { ended.open() }
                return Token("token-\(number)")
            }
        }

        func credential(becomes expected: Token) async {
            while world.interceptor.credential != expected, !Task.isCancelled { await world.session.settle() }
        }
    }

    @Test func aCallThatIsCancelledLeavesAtOnceAndTheRefreshGoesOn() async throws {
        let gated = Gated()
        let first = Task { try await gated.world.get() }
        try await gated.begun.opened()
        let second = Task { try await gated.world.get() }
        await gated.world.session.settle()
        first.cancel()
        // The call ends while the refresh hangs.
        await #expect(throws: CancellationError.self) { try await first.value }
        gated.end.open()
        #expect(try await second.value == "token-1")
        #expect(gated.world.authenticator.refreshes == 1)
    }

    @Test func aRefreshThatEverybodyLeftKeepsItsCredential() async throws {
        let gated = Gated()
        let call = Task { try await gated.world.get() }
        try await gated.begun.opened()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        gated.end.open()
        await gated.credential(becomes: Token("token-1"))
        #expect(try await gated.world.get() == "token-1")
        #expect(gated.world.transport.startedCount == 1)
    }

    @Test func aRefreshThatTakesTooLongIsGivenUp() async throws {
        let gated = Gated(timeout: .seconds(10))
        let isOver = LoopbackServer.Gate()
        let call = Task {
            defer { isOver.open() }
            return try await gated.world.get()
        }
        try await gated.begun.opened()
        while !isOver.isOpen, !Task.isCancelled {
            gated.world.clock.move(by: .seconds(5))
            await gated.world.session.settle()
        }
        await #expect(throws: AuthenticationError.refreshTimedOut) { try await call.value }
        // The credential of the late refresh is still used.
        gated.end.open()
        await gated.credential(becomes: Token("token-1"))
    }

    /// A refresh that is no longer needed is cancelled: nothing else would end it.
    @Test(arguments: [true, false])
    func aRefreshThatIsNotWantedAnyMoreIsCancelled(_ isTimedOut: Bool) async throws {
        let begun = LoopbackServer.Gate(), never = LoopbackServer.Gate(), cancelled = LoopbackServer.Gate()
        let world = TokenWorld(accepting: ["set"], credential: Token("old"), timeout: .seconds(10)) { _ in
            begun.open()
            defer { cancelled.open() }
            try await never.opened()
            return Token("never")
        }
        let call = Task { try? await world.get() }
        try await begun.opened()
        await world.endRefresh(byTimeout: isTimedOut, cancelled)
        #expect(await call.value == (isTimedOut ? nil : "set"))
    }

    @Test func aCredentialThatIsSetLetsEveryoneGoOn() async throws {
        let gated = Gated()
        let call = Task { try await gated.world.get() }
        try await gated.begun.opened()
        await gated.world.session.settle()
        gated.world.interceptor.credential = Token("set")
        #expect(try await call.value == "set")
        gated.end.open()
        try await gated.ended.opened()
        await gated.world.session.settle()
        #expect(gated.world.interceptor.credential == Token("set"))
    }

    @Test func aCredentialThatIsTakenAwayFailsThoseWhoWait() async throws {
        let gated = Gated()
        let call = Task { try await gated.world.get() }
        try await gated.begun.opened()
        await gated.world.session.settle()
        gated.world.interceptor.credential = nil
        await #expect(throws: AuthenticationError.missingCredential) { try await call.value }
        gated.end.open()
    }

    @Test func aRefreshThatSaysItWasCancelledIsNoCancellationOfTheCall() async throws {
        let world = TokenWorld(accepting: [], credential: Token("old")) { _ in throw CancellationError() }
        await #expect(throws: AuthenticationError.refreshCancelled) { try await world.get() }
    }

    @Test func theDeadlineOfACallHoldsWhileItWaits() async throws {
        let clock = TestClock()
        let hanging = LoopbackServer.Gate(), begun = LoopbackServer.Gate()
        let authenticator = TokenAuthenticator { _ in
            begun.open()
            try await hanging.opened()
            return Token("token-1")
        }
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: Token("old", requiresRefresh: true))
        let transport = MockTransport { _ in MockResponse() }
        let session = Session(configuration: SessionConfiguration(), transport: transport, clock: clock)
        var request = Request("http://a.example/").withInterceptor(interceptor)
        request.timeouts = Timeouts(total: .seconds(5))
        let answer = Task { [request] in try await session.data(request) }
        try await begun.opened()
        await session.settle()
        clock.move(by: .seconds(5))
        let error = await #expect(throws: TrellisError.self) { try await answer.value }
        #expect(error?.kind == .totalTimeout)
        hanging.open()
    }

    /// Returns a store with an old credential, whose refresh opens a gate and waits for another one.
    private static func store(
        _ begun: LoopbackServer.Gate, _ end: LoopbackServer.Gate
    ) -> CredentialStore<TokenAuthenticator> {
        CredentialStore(
            TokenAuthenticator { _ in
                begun.open()
                try await end.opened()
                return Token("token-1")
            }, credential: Token("old", requiresRefresh: true), window: nil, timeout: nil, clock: ContinuousClock())
    }

    @Test func aCallThatIsCancelledOnItsWayToWaitingDoesNotWait() async throws {
        let gate = LoopbackServer.Gate(), begun = LoopbackServer.Gate()
        let keeper = Self.store(begun, gate)
        let first = Task { try await keeper.credential(for: CallContext.test(id: 1).call) }
        try await begun.opened()
        let isCancelled = LoopbackServer.Gate()
        let second = Task {
            // The wait runs in a task of its own: the cancellation, which comes before the gate opens, would end the wait.
            await Task { try? await isCancelled.opened() }.value
            return try await keeper.credential(for: CallContext.test(id: 2).call)
        }
        second.cancel()
        isCancelled.open()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(keeper.waitingCount == 1)
        gate.open()
        #expect(try await first.value == Token("token-1"))
        #expect(keeper.waitingCount == 0)
    }

    @Test func thoseWhoWaitAreLetGoInTheirOrder() async throws {
        let gate = LoopbackServer.Gate()
        let begun = LoopbackServer.Gate()
        let keeper = Self.store(begun, gate)
        // All tasks run on one executor, so that they end in the order in which they were resumed.
        let session = Session(transport: MockTransport { _ in MockResponse() })
        let executor = session.executor
        let order = Locked<[UInt64]>([])
        var calls: [Task<Void, any Error>] = []
        for call in UInt64(1)...50 {
            calls.append(
                Task(executorPreference: executor) {
                    _ = try await keeper.credential(for: CallContext.test(id: call).call)
                    order.withLock { $0.append(call) }
                })
            while keeper.waitingCount < call, !Task.isCancelled { await session.settle() }
        }
        try await begun.opened()
        // The last call has its place in the line, and now waits too.
        await session.settle()
        gate.open()
        for call in calls { try await call.value }
        #expect(order.withLock { $0 } == Array(1...50))
    }
}
