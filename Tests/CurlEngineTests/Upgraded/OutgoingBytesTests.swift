import FoundationEssentials
import Testing
import TrellisTesting

@testable import CurlEngine

/// The bytes that wait to be sent keep their order and their address.
struct OutgoingBytesTests {
    private static func contents(_ slice: OutgoingSlice) -> [UInt8] { unsafe slice.withBytes { unsafe [UInt8]($0) } }

    private static func address(_ slice: OutgoingSlice) -> UInt {
        unsafe slice.withBytes { UInt(bitPattern: $0.baseAddress) }
    }

    @Test func bytesComeInOrderWhateverTheirNumber() {
        var bytes = OutgoingBytes()
        var expected: [UInt8] = []
        var generator = SeededGenerator(seed: 7)
        for round in 0..<200 {
            let size = [1, 3, 14, 15, 700, 20_000, 70_000].randomElement(using: &generator) ?? 1
            let piece = Data(repeating: UInt8(truncatingIfNeeded: round), count: size)
            let isAdded = bytes.append(piece)
            #expect(isAdded)
            expected += piece
        }
        var left = bytes.count
        #expect(left == expected.count)
        var sent: [UInt8] = []
        while let slice = bytes.next() {
            let count = Int.random(in: 1...slice.range.count, using: &generator)
            sent += Self.contents(slice).prefix(count)
            bytes.remove(count)
        }
        left = bytes.count
        #expect(sent == expected && left == 0)
    }

    @Test(arguments: [10, 100, 1_000, 50_000])
    func bytesThatWereNotTakenAreOfferedAgainAsTheyWere(_ size: Int) {
        var bytes = OutgoingBytes()
        _ = bytes.append(Data(repeating: 1, count: size))
        let first = bytes.next()
        for _ in 1...100 { _ = bytes.append(Data(repeating: 2, count: 10)) }
        let second = bytes.next()
        #expect(first != nil && second?.range == first?.range)
        #expect(second.map(Self.address) == first.map(Self.address))
        bytes.remove(size)
        let third = bytes.next()
        #expect(third.map(Self.contents)?.first == 2)
        bytes.removeAll()
        let rest = (bytes.next(), bytes.count)
        #expect(rest.0 == nil && rest.1 == 0)
    }
}
