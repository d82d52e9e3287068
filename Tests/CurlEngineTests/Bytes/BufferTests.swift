import FoundationEssentials
import Testing
import TrellisTesting

@testable import CurlEngine

/// The buffers between a connection and the framework keep all bytes, in their order.
struct BufferTests {
    // MARK: ByteAccumulator

    @Test(arguments: 0..<30)
    func whatIsAppendedIsTaken(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var accumulator = ByteAccumulator()
        var model: [UInt8] = []
        for _ in 0..<60 {
            if Int.random(in: 0..<5, using: &random) == 0 {
                #expect([UInt8](accumulator.take()) == model)
                model = []
            } else {
                let bytes = (0..<Int.random(in: 0..<1500, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                #expect(bytes.withBytes { accumulator.append($0) })
                model += bytes
            }
            #expect(accumulator.count == model.count)
        }
    }

    @Test func anEmptyOneGivesNothing() {
        var accumulator = ByteAccumulator()
        #expect(accumulator.take().isEmpty)
        #expect([UInt8]().withBytes { accumulator.append($0) })
        #expect(accumulator.count == 0)
    }

    @Test func whatWasTakenStaysWhenMoreComes() {
        var accumulator = ByteAccumulator()
        accumulator.reserve(5000)
        _ = [UInt8](repeating: 1, count: 2000).withBytes { accumulator.append($0) }
        let first = accumulator.take()
        _ = [UInt8](repeating: 2, count: 3000).withBytes { accumulator.append($0) }
        #expect(first == Data(repeating: 1, count: 2000))
        #expect(accumulator.take() == Data(repeating: 2, count: 3000))
    }

    // MARK: ChunkQueue

    @Test(arguments: 0..<30)
    func whatWaitsIsTakenInOrder(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queue = ChunkQueue()
        var appended: [UInt8] = []
        var taken: [UInt8] = []
        for number in 0..<40 {
            let kind = Int.random(in: 0..<6, using: &random)
            if kind == 0 {
                let before = queue.count
                let chunk = queue.take()
                #expect(chunk.count <= ChunkQueue.chunkSize && chunk.isEmpty == (before == 0))
                taken += chunk
            } else {
                let size = Int.random(in: 0..<[3, 1500, 40_000, 300_000][number % 4], using: &random)
                let bytes = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: size)
                if kind == 1, size <= ChunkQueue.chunkSize, size > 0 {
                    queue.append(chunk: Data(bytes))
                } else {
                    #expect(bytes.withBytes { queue.append($0) })
                }
                appended += bytes
            }
            #expect(queue.count == appended.count - taken.count)
        }
        while queue.count > 0 { taken += queue.take() }
        #expect(taken == appended)
    }

    @Test func aChunkThatIsKeptStaysWhatItIs() {
        var queue = ChunkQueue()
        func append(_ byte: UInt8) -> Bool {
            [UInt8](repeating: byte, count: ChunkQueue.chunkSize).withBytes { queue.append($0) }
        }
        #expect(append(1))
        let first = queue.take()
        // More chunks than the pool holds.
        for _ in 0..<40 {
            #expect(append(2))
            #expect(queue.take() == Data(repeating: 2, count: ChunkQueue.chunkSize))
        }
        #expect(first == Data(repeating: 1, count: ChunkQueue.chunkSize))
    }

    // MARK: UploadBuffer

    @Test(arguments: 0..<30)
    func whatIsGivenIsReadInOrderWhateverTheSizes(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var buffer = UploadBuffer()
        var given: [UInt8] = []
        var got: [UInt8] = []
        for _ in 0..<100 {
            if Bool.random(using: &random) {
                let bytes = (0..<Int.random(in: 0..<50, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                // A slice has indices that do not begin at zero.
                buffer.append((Data([0, 0, 0]) + Data(bytes)).dropFirst(3))
                given += bytes
            } else {
                got += Self.read(Int.random(in: 0..<70, using: &random), from: &buffer)
            }
            #expect(buffer.buffered == given.count - got.count)
        }
        got += Self.read(10_000, from: &buffer)
        #expect(got == given)
        #expect(buffer.buffered == 0)
    }

    @Test func discardingLeavesNothingAndEndsIt() {
        var buffer = UploadBuffer()
        buffer.append(Data([1, 2, 3]))
        buffer.discard()
        #expect(buffer.isFinished)
        #expect(buffer.buffered == 0)
        #expect(Self.read(10, from: &buffer).isEmpty)
    }

    private static func read(_ count: Int, from buffer: inout UploadBuffer) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: max(count, 1)) { bytes, filled in
            filled = unsafe buffer.read(
                into: UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(bytes)[..<count]))
        }
    }

    // MARK: WireFields and HeaderLines

    @Test func fieldsComeBackAsTheyWentIn() throws {
        let fields = try #require(try ParsedLines("HTTP/1.1 200 OK\r\nA: 1\r\nB:\r\nC: x:y\r\n\r\n").final).fields
        #expect(ParsedLines.text(fields) == ["A:1", "B:", "C:x:y"])
        #expect(WireFields().count == 0)
        #expect(ParsedLines.text(WireFields()).isEmpty)
    }

    @Test func headerLinesAreInLibcurlsForm() {
        var lines = HeaderLines()
        let areAdded = [lines.append(name: "A", value: "1"), lines.append(name: "Empty", value: "")]
        #expect(areAdded == [true, true])
        lines.suppress("Expect")
        #expect(lines.count == 3)
        #expect(String(decoding: lines.bytes, as: UTF8.self) == "A: 1\0Empty;\0Expect:\0")
    }

    @Test(arguments: ["a\rb", "a\nb", "a\0b", "\r\nX: y", "a\n"])
    func aValueThatWouldEndItsLineIsRefusedAndLeavesNothing(_ value: String) {
        var lines = HeaderLines()
        let areAdded = [
            lines.append(name: "A", value: "1"), lines.append(name: "B", value: value),
            lines.append(name: "B\nC", value: "x"),
        ]
        #expect(areAdded == [true, false, false])
        #expect(lines.count == 1)
        #expect(String(decoding: lines.bytes, as: UTF8.self) == "A: 1\0")
    }
}
