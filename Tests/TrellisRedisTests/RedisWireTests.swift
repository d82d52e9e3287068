#if Redis
import CurlEngine
import Foundation
import TestSupport
import Testing

@testable import TrellisRedis

/// Commands as they are sent, and replies as they arrive (the serialization protocol of Redis, version 2).
struct RedisWireTests {
    @Test func aCommandIsAnArrayOfItsParts() {
        let command = RedisCommand("SET", [.text("é"), .number(-7), .bytes(Data([0, 13, 10])), .text("")])
        #expect(command.encoded == Data("*5\r\n$3\r\nSET\r\n$2\r\né\r\n$2\r\n-7\r\n$3\r\n\0\r\n\r\n$0\r\n\r\n".utf8))
    }

    @Test func aScriptHasItsKeysBeforeItsArguments() {
        let command = RedisCommand(RedisScript(text: "return 1"), keys: ["a", "b"], [.text("c")])
        let parts = ["EVAL", "return 1", "2", "a", "b", "c"].map { "$\($0.utf8.count)\r\n\($0)\r\n" }.joined()
        #expect(command.encoded == Data("*6\r\n\(parts)".utf8))
    }

    private static let replies: [(String, RedisValue)] = [
        ("+OK\r\n", .status("OK")), ("-ERR no\r\n", .error("ERR no")), (":-12\r\n", .integer(-12)),
        ("$5\r\na\r\nb!\r\n", .bytes(Data("a\r\nb!".utf8))), ("$0\r\n\r\n", .bytes(Data())), ("$-1\r\n", .nothing),
        ("*-1\r\n", .nothing), ("*0\r\n", .array([])),
        (
            "*3\r\n:1\r\n*2\r\n$1\r\nx\r\n$-1\r\n+y\r\n",
            .array([.integer(1), .array([.bytes(Data("x".utf8)), .nothing]), .status("y")])
        ),
    ]

    /// The replies arrive whole, byte by byte, or two at once.
    @Test(arguments: replies.indices, [1, 3, 1000]) func repliesArriveInPieces(_ index: Int, _ size: Int) throws {
        let (text, reply) = Self.replies[index]
        let reader = try #require(RedisReader())
        var (rest, found) = (Data((text + text).utf8), [RedisValue]())
        while !rest.isEmpty {
            found += try reader.replies(completedBy: Data(rest.prefix(size)))
            rest = Data(rest.dropFirst(size))
        }
        #expect(found == [reply, reply])
    }

    @Test(arguments: ["?\r\n", ":x\r\n", "$-2\r\n", "HTTP/1.1 400 Bad Request\r\n", "*99999999999\r\n"])
    func whatIsNoReplyIsAnError(_ text: String) throws {
        let reader = try #require(RedisReader())
        #expect(throws: RedisFailure.malformed) { try reader.replies(completedBy: Data(text.utf8)) }
        // Nothing that follows is trusted.
        #expect(throws: RedisFailure.malformed) { try reader.replies(completedBy: Data("+OK\r\n".utf8)) }
    }

    /// A reply that says it is large is not waited for beyond the limit, and many small elements count too.
    @Test(arguments: ["$2000\r\n" + String(repeating: "a", count: 2000), String(repeating: "*1\r\n", count: 400)])
    func aReplyThatIsTooLargeIsAnError(_ text: String) throws {
        let reader = try #require(RedisReader(limit: 1000))
        #expect(throws: RedisFailure.malformed) {
            for byte in text.utf8 { _ = try reader.replies(completedBy: Data([byte])) }
        }
    }

    @Test func tokensThatAreCutAreNone() {
        let whole: [UInt8] = [
            UInt8(ascii: "*"), 1, 0, 0, 0, 0, 0, 0, 0, UInt8(ascii: "$"), 2, 0, 0, 0, 0, 0, 0, 0, 65, 66,
        ]
        var tokens = whole[...]
        #expect(RedisValue(tokens: &tokens) == .array([.bytes(Data("AB".utf8))]) && tokens.isEmpty)
        for count in whole.indices {
            var cut = whole.prefix(count)
            #expect(RedisValue(tokens: &cut) == nil, "\(count)")
        }
    }

    @Test func numbersAreReadFromTextsToo() {
        #expect(RedisValue.bytes(Data("42".utf8)).number == 42)
        #expect(RedisValue.bytes(Data("4x".utf8)).number == nil && RedisValue.nothing.number == nil)
        #expect(throws: RedisFailure.refused("OOM x")) { try RedisValue.error("OOM x").checked() }
    }
}
#endif
