import FoundationEssentials

@testable import TrellisCore

/// Checks that the parts do not depend on how a body is cut, and that no byte is delivered twice.
func fuzzMultipart(_ input: FuzzInput) {
    let boundary = ["b", "--", "a b", "boundary"][Int(input.choice & 3)]
    let parser = MultipartParser(
        MultipartDelimiter(boundary.utf8), maximumHeadSize: input.choice & 4 == 0 ? 1 << 14 : 24,
        mayStopAnywhere: input.choice & 8 != 0)
    let whole = joined(MachineOutcome(parser, [input.body]))
    for pieces in input.cuts {
        let outcome = joined(MachineOutcome(parser, pieces))
        expect(outcome.pieces == whole.pieces, "other parts")
        expect(outcome.failure == whole.failure, "another failure")
    }
    let count = whole.pieces.reduce(0) { if case .bytes(let bytes) = $1 { $0 + bytes.count } else { $0 } }
    expect(count <= input.body.count, "more bytes than there were")
    if let type = String(validating: input.body, as: UTF8.self) {
        _ = try? MultipartDelimiter(contentType: "multipart/x" + type)
    }
}

/// Returns the outcome with the bytes of each part in one piece.
func joined(
    _ outcome: MachineOutcome<MultipartParser.Piece>
) -> (pieces: [MultipartParser.Piece], failure: TrellisError.Kind?) {
    var pieces: [MultipartParser.Piece] = []
    for piece in outcome.outputs {
        if case .bytes(let next) = piece, case .bytes(let last) = pieces.last {
            pieces[pieces.count - 1] = .bytes(last + next)
        } else {
            pieces.append(piece)
        }
    }
    return (pieces, outcome.failure)
}
