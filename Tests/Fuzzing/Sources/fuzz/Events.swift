import FoundationEssentials

@testable import TrellisCore

/// Checks that the events do not depend on how a stream is cut, and that no event exceeds the limit.
func fuzzEvents(_ input: FuzzInput) {
    let limit = input.choice & 1 == 0 ? 1 << 20 : 16
    let parser = ServerSentEventParser(limit: limit, lastEventID: input.choice & 2 == 0 ? "" : "id")
    let whole = MachineOutcome(parser, [input.body])
    for pieces in input.cuts {
        let outcome = MachineOutcome(parser, pieces)
        expect(outcome.outputs == whole.outputs, "other events")
        expect(outcome.failure == whole.failure, "another failure")
    }
    for event in whole.outputs {
        // A byte that is not UTF-8 becomes three bytes.
        expect(event.data.utf8.count <= 3 * limit, "an event above the limit")
        expect(!event.event.isEmpty && !event.id.utf8.contains(0), "no name, or NUL in the id")
        expect(
            !event.data.utf8.contains(13) && !event.event.utf8.contains(10) && !event.id.utf8.contains(10),
            "a line break")
    }
}
