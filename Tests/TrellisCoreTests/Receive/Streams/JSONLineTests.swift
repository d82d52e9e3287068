import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The decoding of newline-delimited JSON.
struct JSONLineTests {
    struct Point: Codable, Equatable, Sendable {
        var x: Int
        var y: Int
    }

    static func run<Value: Decodable & Sendable>(
        _ type: Value.Type, _ pieces: [[UInt8]], limit: Int = 1000, whenUndecodable: UndecodableElementHandler? = nil
    ) -> MachineRun<Value> {
        MachineRun(
            JSONLineFramer(limit: limit), ElementDecoder(JSONDecoder(), whenUndecodable: whenUndecodable), pieces)
    }

    @Test func eachLineIsAValueHoweverItIsCut() {
        let text = "{\"x\":1,\"y\":2}\n\n  {\"y\":4,\r\"x\":3}\t\r\n \t\r\n{\"x\":5,\"y\":6}"
        let points = [Point(x: 1, y: 2), Point(x: 3, y: 4), Point(x: 5, y: 6)]
        for pieces in Cuts.all(Array(text.utf8)) {
            #expect(Self.run(Point.self, pieces).outputs == points)
        }
    }

    @Test(arguments: 0..<30)
    func randomLinesCutAtRandomAreTheSame(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let alphabet = ["1", "[2,3]", "\n", "\n", "\n", "\r\n", " ", "\"é\"", "\u{FFFD}", "{"].map { Array($0.utf8) }
        let bytes = Cuts.bytes(of: alphabet, upTo: 40, &random)
        let seen = Counter()
        let run = { (pieces: [[UInt8]]) in
            seen.numbers = []
            return Self.run(AnyJSON.self, pieces) { seen.numbers.append($0.number) }.outputs.count
        }
        let whole = (run([bytes]), seen.numbers)
        for _ in 0..<10 { #expect((run(Cuts.random(bytes, longest: 5, &random)), seen.numbers) == whole) }
    }

    /// The numbers that a handler has received; used by one test at a time.
    private final class Counter: @unchecked Sendable {
        // Unchecked: the counter never leaves the test's thread.
        var numbers: [Int] = []
    }

    private struct AnyJSON: Decodable, Sendable {
        init(from decoder: any Decoder) throws { _ = try? decoder.singleValueContainer() }
    }

    @Test(arguments: ["x", "{\"x\":1}", "1,2", "\u{0}", "{\"x\":1,\"y\":2} {", "nul"])
    func anErrorNamesItsLine(_ line: String) throws {
        let pieces = [Array("{\"x\":1,\"y\":2}\n\n\(line)\n{\"x\":1,\"y\":2}\n".utf8)]
        let run = Self.run(Point.self, pieces)
        #expect(run.outputs == [Point(x: 1, y: 2)])
        let error = try #require(run.failure as? TrellisError)
        let element = try #require(error.underlying as? UndecodableElement)
        #expect(element.unit == .line)
        #expect(element.number == 3)
        #expect(element.bytes == Data(line.utf8))
        #expect(element.cause is DecodingError)
        #expect(error.kind == .serialization)
        #expect("\(error)".hasPrefix("line 3 of the response is no Point: "))
        #expect(!"\(error)".contains("cannot be decoded"), "it is said once")
    }

    @Test func aHandlerCanGoOn() {
        let seen = Counter()
        let run = Self.run(Int.self, [Array("1\nx\n3\n\"y\"\n5\nz".utf8)]) { seen.numbers.append($0.number) }
        #expect(run.outputs == [1, 3, 5])
        #expect(seen.numbers == [2, 4, 6])
        #expect(run.failure == nil)
    }

    @Test func aHandlerCanEndTheStreamWithAnErrorOfItsOwn() {
        struct Own: Error {}
        let run = Self.run(Int.self, [Array("1\nx\n3\n".utf8)]) { _ in throw Own() }
        #expect(run.outputs == [1])
        #expect(run.failure is Own)
    }

    @Test func theLastLineNeedsNoEnd() {
        let run = Self.run(Int.self, [Array("1\n2".utf8)])
        #expect(run.outputs == [1, 2])
        #expect(Self.run(Int.self, [Array("1\n{".utf8)]).failure is TrellisError)
    }

    @Test func aLineAboveTheLimitIsAnError() {
        let run = Self.run(String.self, [Array("\"12345678\"\n\"123456789\"\n".utf8)], limit: 10)
        #expect(run.outputs == ["12345678"])
        #expect(run.kind == .bodyTooLarge)
    }
}
