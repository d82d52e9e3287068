import Testing

@testable import CurlEngine

/// The search for line ends in bytes that arrive in pieces.
struct LineSearchTests {
    /// Bytes that count how often one of them is read.
    private final class Counted: RandomAccessCollection {
        var bytes: [UInt8] = []
        private(set) var reads = 0
        var startIndex: Int { 0 }
        var endIndex: Int { bytes.count }
        subscript(index: Int) -> UInt8 {
            reads += 1
            return bytes[index]
        }
    }

    @Test func aLineThatArrivesByteByByteIsReadOnce() {
        let (input, count) = (Counted(), 1_000)
        var search = LineSearch()
        for _ in 0..<count {
            input.bytes.append(UInt8(ascii: "a"))
            #expect(search.lineEnd(in: input, from: 0) == nil)
        }
        input.bytes += Array("\nb\n".utf8)
        #expect(search.lineEnd(in: input, from: 0) == count)
        #expect(input.reads == count + 1)
        #expect(search.lineEnd(in: input, from: count + 1) == count + 2)
        #expect(input.reads == count + 3)
    }

    @Test func bytesThatAreGoneDoNotCount() {
        var search = LineSearch()
        #expect(search.lineEnd(in: Array("ab\ncd".utf8), from: 0) == 2)
        #expect(search.lineEnd(in: Array("ab\ncd".utf8), from: 3) == nil)
        search.forget(3)
        #expect(search.lineEnd(in: Array("cd\n".utf8), from: 0) == 2)
        search.forget(3)
        #expect(search.lineEnd(in: Array("\n".utf8), from: 0) == 0)
    }
}
