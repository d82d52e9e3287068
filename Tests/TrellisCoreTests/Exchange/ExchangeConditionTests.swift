import Testing

@testable import TrellisCore

/// The conditions and the facts of an exchange beside its phase.
struct ExchangeConditionTests {
    typealias Condition = ExchangeState.Condition
    typealias Effects = ExchangeState.Effects
    typealias Expectation = ExchangeState.Expectation
    typealias Facts = ExchangeState.Facts

    /// Returns an exchange whose request is being sent.
    private static func sending(_ request: Facts = [], _ conditions: [Condition] = []) -> ExchangeState {
        var state = ExchangeState(request)
        for event in [ExchangeState.Event.resume, .admit, .connect] { _ = state.handle(event) }
        for condition in conditions { _ = state.handle(condition) }
        return state
    }

    private static let again: Effects = [.dropAttempt, .restartTransport]

    @Test(
        arguments: [
            ([], .permitBody, .over, .startBody), ([], .declineBody, .over, .stopBody),
            ([], .dropBody, .awaited, .stopBody),
            ([.permitBody], .permitBody, .over, []), ([.permitBody], .declineBody, .over, []),
            ([], .dropExpectation, .dropped, [.cancelAttempt, .dropAttempt]),
            ([.dropExpectation], .permitBody, .dropped, []), ([.dropExpectation], .declineBody, .dropped, []),
            ([.dropExpectation], .start, .dropped, .restartTransport),
            ([], .restart, .awaited, again), ([.permitBody], .restart, .awaited, again),
            ([.dropExpectation], .restart, .dropped, again), ([], .hold, .awaited, .pauseReceiving),
        ] as [([Condition], Condition, Expectation, Effects)])
    func theBodyWaitsForTheServer(
        _ before: [Condition], _ condition: Condition, _ expectation: Expectation, _ effects: Effects
    ) {
        var state = Self.sending([.expectsContinue, .hasSource], before)
        let phase = state.phase
        #expect(state.handle(condition) == effects)
        #expect(state.expectation == expectation)
        #expect(state.phase == phase)
    }

    @Test(arguments: [Condition.permitBody, .declineBody])
    func aRequestThatExpectsNothingDoesNotWait(_ condition: Condition) {
        var state = Self.sending([.hasSource])
        #expect(state.expectation == .none)
        #expect(state.handle(condition) == [])
        #expect(state.expectation == .none)
    }

    @Test func aSuspendedExchangeIsSentAgainWhenItIsResumed() {
        var state = Self.sending()
        #expect(state.handle(.suspend) == .pauseTransport)
        #expect(state.handle(.restart) == .dropAttempt)
        #expect(state.hasRestarted && state.mustRestart)
        #expect(state.handle(.resume) == [.resumeTransport, .restartTransport])
        #expect(!state.mustRestart)
        #expect(state.handle(.suspend) == .pauseTransport)
        #expect(state.handle(.start) == [])
        #expect(state.handle(.resume) == [.resumeTransport, .restartTransport])
        #expect(state.handle(.suspend) == .pauseTransport)
        #expect(state.handle(.resume) == .resumeTransport)
        #expect(state.handle(.start) == .restartTransport)
    }

    // MARK: Pauses

    /// The reader and the bandwidth limits: receiving is paused as long as one of them demands it.
    @Test(
        arguments: [
            ([], .hold, .pauseReceiving), ([.hold], .hold, []), ([.hold], .release, .continueReceiving),
            ([], .release, []), ([], .limit, .pauseReceiving), ([.limit], .limit, []),
            ([.limit], .grant, .continueReceiving), ([], .grant, []), ([.hold], .limit, []), ([.limit], .hold, []),
            ([.hold, .limit], .release, []), ([.hold, .limit], .grant, []),
            ([.hold, .limit, .release], .grant, .continueReceiving),
            ([.hold, .limit, .grant], .release, .continueReceiving),
            // The next attempt is not paused.
            ([.limit, .restart], .limit, .pauseReceiving), ([.limit, .restart], .grant, []),
        ] as [([Condition], Condition, Effects)])
    func receivingIsPausedAsLongAsSomethingHoldsIt(_ before: [Condition], _ condition: Condition, _ effects: Effects) {
        var state = Self.sending([], before)
        #expect(state.handle(condition) == effects)
    }

    @Test func onlyTheReaderHoldsTheExchange() {
        var state = Self.sending([], [.limit])
        #expect(!state.isHeldByReader)
        _ = state.handle(.hold)
        #expect(state.isHeldByReader)
        _ = state.handle(.release)
        #expect(!state.isHeldByReader)
    }

    // MARK: The request's body

    @Test func aBodyWithoutASourceIsSentFromTheBeginning() {
        #expect(ExchangeState().isBodySent)
        #expect(Self.sending().isBodySent)
        #expect(Self.sending([], [.restart]).isBodySent)
    }

    @Test(arguments: [Condition.declineBody, .dropBody])
    func aBodyWithASourceIsSentWhenItIsCompleteOrDropped(_ condition: Condition) {
        var state = Self.sending([.hasSource, .expectsContinue])
        #expect(!state.isBodySent)
        state.note(.isBodySent)
        #expect(state.isBodySent)
        _ = state.handle(.restart)
        #expect(!state.isBodySent)
        _ = state.handle(condition)
        #expect(state.isBodySent)
    }

    /// What the observers are told of a request that is being sent.
    @Test(
        arguments: [
            ([], [], nil, false), ([.hasSource], .isSendingReported, nil, true),
            ([.hasSource], [.isSendingReported, .wasSentReported], nil, false),
            ([.hasSource], .isSendingReported, .dropBody, false),
            ([.hasSource], [.isSendingReported, .isBodySent], .dropBody, true),
            ([], .isSendingReported, .dropBody, true), ([], .isSendingReported, .restart, false),
            ([.expectsContinue], .isSendingReported, .dropExpectation, false),
            ([.hasSource, .expectsContinue], .isSendingReported, .declineBody, false),
            ([.hasSource, .expectsContinue], .isSendingReported, .permitBody, true),
        ] as [(Facts, Facts, Condition?, Bool)])
    func theObserversAreToldOnceThatTheRequestWasSent(
        _ request: Facts, _ noted: Facts, _ condition: Condition?, _ mustReport: Bool
    ) {
        var state = Self.sending(request)
        state.note(noted)
        if let condition { _ = state.handle(condition) }
        #expect(state.mustReportSent == mustReport)
    }

    // MARK: The clock, the end, and others

    @Test(
        arguments: [
            ([.cancel], nil), ([.suspend, .cancel], .parked), ([.resume, .fail], .queued),
            ([.resume, .admit, .fail], .connecting), ([.resume, .admit, .suspend, .cancel], .connecting),
            ([.resume, .admit, .connect, .fail], .sending), ([.resume, .admit, .head, .complete], .receiving),
            ([.resume, .admit, .head, .discardRest], .receiving), ([.resume, .fail, .cancel], .queued),
            ([.resume], nil),
        ] as [([ExchangeState.Event], ExchangeState.Progress?)])
    func theLastProgressIsKnownAfterTheEnd(_ events: [ExchangeState.Event], _ progress: ExchangeState.Progress?) {
        var state = ExchangeState()
        for event in events { _ = state.handle(event) }
        #expect(state.lastProgress == progress)
    }

    @Test(arguments: [
        Facts.isRegistered, .hasWaited, .isProbing, .isRoomPending, .isHeadJudged, .endsMeter,
    ])
    func aFactIsTrueUntilItIsForgotten(_ fact: Facts) {
        var state = ExchangeState()
        #expect(!state.has(fact))
        state.note(fact)
        for event in [ExchangeState.Event.resume, .admit, .connect, .head, .complete] { _ = state.handle(event) }
        #expect(state.has(fact))
        state.forget(fact)
        #expect(!state.has(fact))
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
        var state = Self.sending([.expectsContinue, .hasSource])
        _ = state.handle(.cancel)
        let before = state
        #expect(state.handle(condition) == [])
        #expect(state == before)
    }

    /// The state is copied for every event.
    @Test func theStateIsSmall() { #expect(MemoryLayout<ExchangeState>.size <= 16) }
}
