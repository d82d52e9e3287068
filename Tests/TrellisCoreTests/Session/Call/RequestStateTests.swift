import Testing

@testable import TrellisCore

/// Every state of a call with every event.
struct RequestStateTests {
    struct Row: Sendable {
        let path: [RequestState.Event]
        let event: RequestState.Event
        let phase: RequestState
        let effect: RequestState.Effect
        init(
            _ path: [RequestState.Event], _ event: RequestState.Event, _ phase: RequestState,
            _ effect: RequestState.Effect
        ) {
            (self.path, self.event, self.phase, self.effect) = (path, event, phase, effect)
        }
    }

    static let rows: [Row] = [
        Row([], .begin, .resumed, .resumeExchanges), Row([], .resume, .resumed, .resumeExchanges),
        Row([], .suspend, .suspended, .pauseExchanges), Row([], .cancel, .cancelled, .end),
        Row([], .finish, .finished, .end),
        Row([.begin], .begin, .resumed, .nothing), Row([.begin], .resume, .resumed, .nothing),
        Row([.begin], .suspend, .suspended, .pauseExchanges), Row([.begin], .cancel, .cancelled, .end),
        Row([.begin], .finish, .finished, .end),
        Row([.suspend], .begin, .suspended, .nothing), Row([.suspend], .resume, .resumed, .resumeExchanges),
        Row([.suspend], .suspend, .suspended, .nothing), Row([.suspend], .cancel, .cancelled, .end),
        Row([.suspend], .finish, .finished, .end),
    ]

    @Test(arguments: rows)
    func whatFollows(_ row: Row) {
        var state = RequestState.initialized
        for event in row.path { _ = state.handle(event) }
        #expect(state.handle(row.event) == row.effect)
        #expect(state == row.phase)
    }

    @Test(arguments: [RequestState.Event.cancel, .finish], RequestState.Event.allCases)
    func nothingFollowsTheEnd(_ end: RequestState.Event, _ event: RequestState.Event) {
        var state = RequestState.initialized
        _ = state.handle(end)
        let before = state
        #expect(state.handle(event) == .nothing)
        #expect(state == before)
        #expect(state.isFinished)
    }
}
