import Testing

@testable import TrellisCore

/// The conditions of an exchange beside its phase: `100 Continue`, restarts, and a slow reader.
struct ExchangeConditionTests {
    typealias Condition = ExchangeState.Condition
    typealias Effects = ExchangeState.Effects
    typealias Expectation = ExchangeState.Expectation

    /// Returns an exchange whose request is being sent.
    private static func sending(_ conditions: [Condition] = []) -> ExchangeState {
        var state = ExchangeState()
        for event in [ExchangeState.Event.resume, .admit, .connect] { _ = state.handle(event) }
        for condition in conditions { _ = state.handle(condition) }
        return state
    }

    @Test(
        arguments: [
            ([], .expect, .awaited, []), ([.expect], .permitBody, .over, .startBody),
            ([.expect], .declineBody, .over, .stopBody), ([], .permitBody, .none, []), ([], .declineBody, .none, []),
            ([.expect, .permitBody], .permitBody, .over, []), ([.expect, .permitBody], .declineBody, .over, []),
            ([.expect, .permitBody], .expect, .awaited, []), ([.expect], .dropExpectation, .dropped, []),
            ([.expect, .dropExpectation], .expect, .dropped, []),
            ([.expect, .dropExpectation], .permitBody, .dropped, []),
            ([.expect], .restart, .awaited, []), ([.expect], .hold, .awaited, []),
        ] as [([Condition], Condition, Expectation, Effects)])
    func theBodyWaitsForTheServer(
        _ before: [Condition], _ condition: Condition, _ expectation: Expectation, _ effects: Effects
    ) {
        var state = Self.sending(before)
        let phase = state.phase
        #expect(state.handle(condition) == effects)
        #expect(state.expectation == expectation)
        #expect(state.phase == phase)
    }

    @Test func aSuspendedExchangeGoesOutOnceMoreWhenItIsResumed() {
        var state = Self.sending([.restart])
        #expect(state.hasRestarted)
        #expect(state.handle(.suspend) == .pauseTransport)
        #expect(state.handle(.start) == [])
        #expect(state.mustRestart)
        #expect(state.handle(.resume) == [.resumeTransport, .restartTransport])
        #expect(!state.mustRestart)
        #expect(state.handle(.suspend) == .pauseTransport)
        #expect(state.handle(.resume) == .resumeTransport)
        #expect(state.handle(.start) == .restartTransport)
    }

    @Test func aSlowReaderHoldsTheExchange() {
        var state = Self.sending()
        #expect(state.handle(.hold) == [] && state.isHeldByReader)
        #expect(state.handle(.release) == [] && !state.isHeldByReader)
    }

    @Test func theServerSwitchesProtocolsOnce() {
        var state = Self.sending()
        #expect(!state.hasSwitchedProtocols)
        #expect(state.handle(.switchProtocols) == [] && state.hasSwitchedProtocols)
        #expect(state.handle(.head) == .reportHead)
        #expect(state.handle(.complete) == [.releaseSlot, .reportEnd])
    }

    @Test(arguments: Condition.allCases)
    func anExchangeThatHasEndedHasNoEffects(_ condition: Condition) {
        var state = Self.sending([.expect])
        _ = state.handle(.cancel)
        let before = state
        #expect(state.handle(condition) == [])
        #expect(state == before)
    }
}
