import FoundationEssentials

@testable import TrellisCore

/// Checks that the lines do not depend on how a body is cut, and equal those of a plain parser of the complete body.
func fuzzLines(_ input: FuzzInput) {
    let ends = LineEnding.allCases[Int(input.choice) % LineEnding.allCases.count]
    let limit = input.choice & 0x80 == 0 ? 1 << 20 : 16
    let model = modelLines(input.body, ends)
    let isTooLong = model.contains { $0.count > limit }
    for pieces in input.cuts {
        let (lines, isWhole) = splitLines(pieces, ends, limit)
        expect(isWhole == !isTooLong, "the limit depends on the cut")
        expect(lines == Array(isTooLong ? model.prefix { $0.count <= limit } : model[...]), "other lines")
    }
}

private func splitLines(_ pieces: [[UInt8]], _ ends: LineEnding, _ limit: Int) -> ([[UInt8]], isWhole: Bool) {
    var splitter = LineSplitter(endingAt: ends, limit: limit)
    var lines: [[UInt8]] = []
    do throws(TrellisError) {
        for piece in pieces {
            splitter.append(Data(piece))
            while let place = try splitter.nextPlace() {
                switch place {
                case .inChunk(let range): lines.append(Array(splitter.chunk[range]))
                case .joined: lines.append(splitter.joined)
                }
            }
        }
        if let last = try splitter.finish() { lines.append(last) }
    } catch {
        return (lines, false)
    }
    return (lines, true)
}

private func modelLines(_ bytes: [UInt8], _ ends: LineEnding) -> [[UInt8]] {
    let all: [[UInt8]] =
        switch ends {
        case .standard: [[13, 10], [10], [13]]
        case .lineFeed: [[13, 10], [10]]
        case .unicode: [[13, 10], [10], [13], [0xC2, 0x85], [0xE2, 0x80, 0xA8], [0xE2, 0x80, 0xA9]]
        }
    var lines: [[UInt8]] = [[]]
    var rest = bytes[...]
    while let byte = rest.first {
        if let end = all.first(where: { rest.starts(with: $0) }) {
            lines.append([])
            rest = rest.dropFirst(end.count)
        } else {
            lines[lines.count - 1].append(byte)
            rest = rest.dropFirst()
        }
    }
    if lines.last?.isEmpty == true { lines.removeLast() }
    return lines
}
