import Testing

@testable import Trellis

/// Every state of a call with every event.
struct CallStateTests {
    struct Row: Sendable {
        let path: [CallState.Event]
        let event: CallState.Event
        let phase: RequestPhase
        let effect: CallState.Effect
        init(_ path: [CallState.Event], _ event: CallState.Event, _ phase: RequestPhase, _ effect: CallState.Effect) {
            (self.path, self.event, self.phase, self.effect) = (path, event, phase, effect)
        }
    }

    static let rows: [Row] = [
        Row([], .begin, .resumed, .resumeAttempt), Row([], .resume, .resumed, .resumeAttempt),
        Row([], .suspend, .suspended, .pauseAttempt), Row([], .cancel, .cancelled, .end),
        Row([], .finish, .finished, .end),
        Row([.begin], .begin, .resumed, .nothing), Row([.begin], .resume, .resumed, .nothing),
        Row([.begin], .suspend, .suspended, .pauseAttempt), Row([.begin], .cancel, .cancelled, .end),
        Row([.begin], .finish, .finished, .end),
        Row([.suspend], .begin, .suspended, .nothing), Row([.suspend], .resume, .resumed, .resumeAttempt),
        Row([.suspend], .suspend, .suspended, .nothing), Row([.suspend], .cancel, .cancelled, .end),
        Row([.suspend], .finish, .finished, .end),
    ]

    @Test(arguments: rows)
    func whatFollows(_ row: Row) {
        var state = CallState()
        for event in row.path { _ = state.handle(event) }
        #expect(state.handle(row.event) == row.effect)
        #expect(state.phase == row.phase)
    }

    @Test(arguments: [CallState.Event.cancel, .finish], CallState.Event.allCases)
    func nothingFollowsTheEnd(_ end: CallState.Event, _ event: CallState.Event) {
        var state = CallState()
        _ = state.handle(end)
        let phase = state.phase
        #expect(state.handle(event) == .nothing)
        #expect(state.phase == phase)
        #expect(state.isEnded)
    }
}
