import FoundationEssentials

@testable import TrellisCore

/// Checks that the text does not depend on how a body is cut, and neither do the texts of JSON sequences and lines.
func fuzzText(_ input: FuzzInput) {
    let text = String(decoding: input.body, as: UTF8.self)
    let limit = input.choice & 1 == 0 ? 1 << 20 : 16
    let sequence = JSONSequenceFramer(limit: limit)
    let lines = JSONLineFramer(limit: limit)
    let wholeTexts = MachineOutcome(sequence, [input.body])
    let wholeLines = MachineOutcome(lines, [input.body])
    for pieces in input.cuts {
        let strings = MachineOutcome(StringJoiner(), pieces).outputs
        expect(strings.joined().utf8.elementsEqual(text.utf8), "another text")
        let texts = MachineOutcome(sequence, pieces)
        expect(texts.outputs == wholeTexts.outputs && texts.failure == wholeTexts.failure, "other texts")
        let values = MachineOutcome(lines, pieces)
        expect(values.outputs == wholeLines.outputs && values.failure == wholeLines.failure, "other lines")
    }
}
