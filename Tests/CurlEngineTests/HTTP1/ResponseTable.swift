@testable import CurlEngine

/// A response on the wire, with the events that the decoder must give.
struct ResponseRow: Sendable {
    let bytes: [UInt8]
    var traits: HTTP1RequestTraits = []
    let events: [String]
    var failure: EngineFailure.Kind?
    var message = ""
    var isReusable = false
    var rest = ""

    /// A response that is complete.
    static func whole(
        _ text: String, _ events: [String], _ traits: HTTP1RequestTraits = [], isReusable: Bool = true,
        rest: String = ""
    ) -> ResponseRow {
        ResponseRow(
            bytes: Array(text.utf8), traits: traits, events: events, isReusable: isReusable && rest.isEmpty, rest: rest)
    }

    /// A response that is refused.
    static func refused(
        _ text: String, _ failure: EngineFailure.Kind, after events: [String] = [], _ message: String = "",
        _ traits: HTTP1RequestTraits = []
    ) -> ResponseRow {
        ResponseRow(bytes: Array(text.utf8), traits: traits, events: events, failure: failure, message: message)
    }
}

/// The responses of which each is read in one piece, byte by byte, and in two pieces cut at every byte.
enum ResponseTable {
    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    private static let chunkedHead = "200 OK|Transfer-Encoding:chunked"
    private static let closed = "the server closed the connection"
    private static let badChunk = "a chunk of the body is malformed"

    static let rows: [ResponseRow] =
        lengths + noBodies + chunks + ends + persistence + switches + lines + smuggling + cuts

    /// Bodies with a length.
    static let lengths: [ResponseRow] = [
        .whole(ok + "Content-Length: 5\r\n\r\nhello", ["200 OK|Content-Length:5", "“hello”", "end"]),
        .whole(ok + "Content-Length: 0\r\n\r\n", ["200 OK|Content-Length:0", "end"]),
        .whole(ok + "content-length:\t3 \r\n\r\nabc", ["200 OK|content-length:3", "“abc”", "end"]),
        .whole(ok + "Content-Length: 5, 5\r\n\r\nhello", ["200 OK|Content-Length:5, 5", "“hello”", "end"]),
        .whole(
            ok + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            ["200 OK|Content-Length:5|Content-Length:5", "“hello”", "end"]),
        .whole(ok + "Content-Length: 005\r\n\r\nhello", ["200 OK|Content-Length:005", "“hello”", "end"]),
        .whole(
            ok + "Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n", ["200 OK|Content-Length:2", "“ok”", "end"],
            rest: "HTTP/1.1 200 OK\r\n\r\n"),
        .whole(ok + "Content-Length: 2\r\n\r\nok\r\n", ["200 OK|Content-Length:2", "“ok”", "end"], rest: "\r\n"),
        .whole(
            "HTTP/1.1 404 Not Found\r\nServer: a\r\nX-Empty:\r\nContent-Length: 3\r\n\r\n404",
            ["404 Not Found|Server:a|X-Empty:|Content-Length:3", "“404”", "end"]),
    ]

    /// Responses without a body, whatever their fields say.
    static let noBodies: [ResponseRow] = [
        .whole("HTTP/1.1 204 No Content\r\n\r\n", ["204 No Content", "end"]),
        .whole("HTTP/1.1 204 No Content\r\nContent-Length: 10\r\n\r\n", ["204 No Content|Content-Length:10", "end"]),
        .whole(
            "HTTP/1.1 304 Same\r\nTransfer-Encoding: chunked\r\n\r\n", ["304 Same|Transfer-Encoding:chunked", "end"]),
        .whole(
            "HTTP/1.1 304 Same\r\nContent-Length: 4\r\n\r\nrest", ["304 Same|Content-Length:4", "end"], rest: "rest"),
        .whole(ok + "Content-Length: 10\r\n\r\n", ["200 OK|Content-Length:10", "end"], .isHead),
        .whole(ok + "Transfer-Encoding: gzip\r\n\r\n", ["200 OK|Transfer-Encoding:gzip", "end"], .isHead),
        .whole(ok + "\r\n", ["200 OK", "end"], .isHead),
        .whole(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n\(ok)Content-Length: 1\r\n\r\n!",
            ["100 Continue", "103 Early Hints|Link:a", "200 OK|Content-Length:1", "“!”", "end"]),
        .whole(
            "HTTP/1.1 103 x\r\nContent-Length: 5\r\nTransfer-Encoding: gzip\r\nConnection: close\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            [
                "103 x|Content-Length:5|Transfer-Encoding:gzip|Connection:close", "200 OK|Content-Length:2", "“ok”",
                "end",
            ]
        ),
    ]

    /// Chunked bodies.
    static let chunks: [ResponseRow] = [
        .whole(chunked + "5\r\nhello\r\n0\r\n\r\n", [chunkedHead, "“hello”", "end"]),
        .whole(chunked + "0\r\n\r\n", [chunkedHead, "end"]),
        .whole(chunked + "1\r\na\r\n002\r\nbc\r\n00\r\n\r\n", [chunkedHead, "“abc”", "end"]),
        .whole(
            chunked + "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", [chunkedHead, "“01234567890123456789”", "end"]),
        .whole(
            chunked + "4;a=b\r\nbody\r\n006 \r\n in it\r\n1\t;c=\"d;e\"\r\n.\r\n0;last\r\n\r\n",
            [chunkedHead, "“body in it.”", "end"]),
        .whole(chunked + "5\r\n0\r\n\r\n\r\n0\r\n\r\n", [chunkedHead, "“0\r\n\r\n”", "end"]),
        .whole(chunked + "3\nabc\n0\n\n", [chunkedHead, "“abc”", "end"]),
        .whole(chunked + "1\r\na\r\n0\r\nX-Last: yes\r\nY:\r\n\r\n", [chunkedHead, "“a”", "end|X-Last:yes|Y:"]),
        .whole(chunked + "0\r\nContent-Length: 5\r\n\r\n", [chunkedHead, "end|Content-Length:5"]),
        .whole(chunked + "0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", [chunkedHead, "end"], rest: "HTTP/1.1 200 OK\r\n\r\n"),
        .whole(
            ok + "transfer-encoding:\tCHUNKED \r\n\r\n1\r\na\r\n0\r\n\r\n",
            ["200 OK|transfer-encoding:CHUNKED", "“a”", "end"]),
        .refused(chunked + "zz\r\nhello\r\n0\r\n\r\n", .malformedResponse, after: [chunkedHead], badChunk),
        .refused(chunked + "-5\r\nhello\r\n0\r\n\r\n", .malformedResponse, after: [chunkedHead], badChunk),
        .refused(chunked + "+5\r\nhello\r\n0\r\n\r\n", .malformedResponse, after: [chunkedHead], badChunk),
        .refused(chunked + "0x5\r\nhello\r\n0\r\n\r\n", .malformedResponse, after: [chunkedHead], badChunk),
        .refused(chunked + " 5\r\nhello\r\n0\r\n\r\n", .malformedResponse, after: [chunkedHead], badChunk),
        .refused(chunked + "5 5\r\nhello\r\n0\r\n\r\n", .malformedResponse, after: [chunkedHead], badChunk),
        .refused(chunked + "\r\nhello\r\n0\r\n\r\n", .malformedResponse, after: [chunkedHead], badChunk),
        .refused(chunked + ";a\r\nhello\r\n0\r\n\r\n", .malformedResponse, after: [chunkedHead], badChunk),
        .refused(
            chunked + "5\r\nhello, world\r\n0\r\n\r\n", .malformedResponse, after: [chunkedHead, "“hello”"], badChunk),
        .refused(
            chunked + "a\r\nhello\r\n0\r\n\r\nX", .malformedResponse, after: [chunkedHead, "“hello\r\n0\r\n”"], badChunk
        ),
        .refused(chunked + "1\r\na\r\r\n0\r\n\r\n", .malformedResponse, after: [chunkedHead, "“a”"], badChunk),
        .refused(chunked + "1\r\ra\r\n0\r\n\r\n", .malformedResponse, after: [chunkedHead], badChunk),
        .refused(chunked + "1;a\rb\r\na\r\n0\r\n\r\n", .malformedResponse, after: [chunkedHead], badChunk),
        .refused(chunked + "1;a\0b\r\na\r\n0\r\n\r\n", .malformedResponse, after: [chunkedHead], badChunk),
        .refused(chunked + "fffffffffffffffff\r\nhello", .malformedResponse, after: [chunkedHead], badChunk),
        .refused(chunked + "8000000000000000\r\nhello", .malformedResponse, after: [chunkedHead], badChunk),
        .refused(chunked + "10000000000000005\r\nhello", .malformedResponse, after: [chunkedHead], badChunk),
        .refused(chunked + "0\r\nNonsense\r\n\r\n", .head(.badFieldLine("Nonsense")), after: [chunkedHead]),
        .refused(chunked + "0\r\nX-T: 1\r\n fold\r\n\r\n", .head(.badFieldLine(" fold")), after: [chunkedHead]),
        .refused(chunked + "0\r\n fold\r\n\r\n", .head(.badFieldLine(" fold")), after: [chunkedHead]),
        .refused(chunked + "0\r\nHTTP/1.1 200 OK\r\n\r\n", .head(.secondHead), after: [chunkedHead]),
        .refused(chunked + "0\r\nX : 1\r\n\r\n", .head(.badFieldLine("X : 1")), after: [chunkedHead]),
    ]

    /// Bodies that end with the connection.
    static let ends: [ResponseRow] = [
        .whole(ok + "\r\nto the end", ["200 OK", "“to the end”", "end"], isReusable: false),
        .whole("HTTP/1.0 200 OK\r\n\r\n", ["1.0 200 OK", "end"], isReusable: false),
        .whole(
            ok + "Connection: keep-alive\r\n\r\nend", ["200 OK|Connection:keep-alive", "“end”", "end"],
            isReusable: false),
    ]

    /// Whether the connection stays open (RFC 9112, section 9.3).
    static let persistence: [ResponseRow] = [
        none("Connection: close", isReusable: false), none("connection: CLOSE", isReusable: false),
        none("Connection: keep-alive"), none("Connection: x, close", isReusable: false),
        none("Proxy-Connection: Close", isReusable: false), none("Proxy-Connection: keep-alive"),
        none("Connection: close,x", isReusable: false), none("Connection: closed"), none("Connection: x close"),
        none("Connection: keep-alive\r\nConnection: ,\tClose ,", isReusable: false),
        .whole(
            "HTTP/1.1 204 No\r\nConnection: keep-alive,\r\n close\r\n\r\n",
            ["204 No|Connection:keep-alive, close", "end"], isReusable: false),
        none("Connection: keep-alive", version: "1.0"), none("Connection: KEEP-ALIVE, x", version: "1.0"),
        none("Connection: close, keep-alive", version: "1.0", isReusable: false),
        none("X: keep-alive", version: "1.0", isReusable: false),
        none("Keep-Alive: timeout=5", version: "1.0", isReusable: false),
        .whole("HTTP/1.1 204 No\r\n\r\n", ["204 No", "end"], .closes, isReusable: false),
        .whole(
            ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            ["200 OK|Content-Length:3|Transfer-Encoding:chunked", "“hello”", "end"], isReusable: false),
        .whole(
            ok + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            ["200 OK|Transfer-Encoding:chunked|Content-Length:3", "“hello”", "end"], isReusable: false),
        .whole(
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            ["1.0 200 OK|Connection:keep-alive|Transfer-Encoding:chunked", "“a”", "end"], isReusable: false),
    ]

    private static func none(_ lines: String, version: String = "1.1", isReusable: Bool = true) -> ResponseRow {
        let fields = lines.split(separator: "\r\n").map { line in
            line.replacing(": ", with: ":", maxReplacements: 1)
        }
        let head = ([version == "1.0" ? "1.0 204 No" : "204 No"] + fields).joined(separator: "|")
        return .whole("HTTP/\(version) 204 No\r\n\(lines)\r\n\r\n", [head, "end"], isReusable: isReusable)
    }

    /// Switches to another protocol.
    static let switches: [ResponseRow] = [
        .whole(
            "HTTP/1.1 101 Switching\r\nUpgrade: echo\r\n\r\nraw \r\n bytes", ["switched: 101 Switching|Upgrade:echo"],
            .switchesProtocols, isReusable: false, rest: "raw \r\n bytes"),
        .whole(
            "HTTP/1.1 100 Wait\r\n\r\nHTTP/1.1 101 Switching\r\n\r\n", ["100 Wait", "switched: 101 Switching"],
            .switchesProtocols, isReusable: false),
        .whole(
            ok + "Content-Length: 2\r\n\r\nok", ["200 OK|Content-Length:2", "“ok”", "end"], .switchesProtocols),
        .whole(
            ok + "Content-Length: 5\r\n\r\ntunnel", ["switched: 200 OK|Content-Length:5"], .isConnect,
            isReusable: false, rest: "tunnel"),
        .whole(
            "HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno", ["407 No|Content-Length:2", "“no”", "end"], .isConnect),
        .refused("HTTP/1.1 101 Switching\r\n\r\n", .head(.unexpectedStatus(101))),
        .refused("HTTP/1.0 101 Switching\r\n\r\n", .head(.unexpectedStatus(101)), "", .switchesProtocols),
    ]

    /// Lines of heads, in every form that is accepted.
    static let lines: [ResponseRow] = [
        .whole("HTTP/1.1 204\r\n\r\n", ["204 ", "end"]), .whole("HTTP/1.1 204 \r\n\r\n", ["204 ", "end"]),
        .whole("HTTP/1.1 204 schön\r\n\r\n", ["204 schön", "end"]),
        .whole("HTTP/1.1 204 No\nA: 1\n\n", ["204 No|A:1", "end"]),
        .whole("HTTP/1.1 204 No\r\nA: 1\n\r\n", ["204 No|A:1", "end"]),
        .whole("HTTP/1.1 204 No\r\nA:\r\nB: \t b: \t \r\n\r\n", ["204 No|A:|B:b:", "end"]),
        .whole("HTTP/1.1 204 No\r\nA: 1\r\n 2\r\n\t3\r\n\r\n", ["204 No|A:1 2 3", "end"]),
        .whole("HTTP/1.1 204 No\r\nA:\r\n x\r\nB: y\r\n\r\n", ["204 No|A:x|B:y", "end"]),
        .whole("HTTP/1.1 204 No\r\n!#$%&'*+-.^_`|~09azAZ: x\r\n\r\n", ["204 No|!#$%&'*+-.^_`|~09azAZ:x", "end"]),
        .whole("HTTP/1.1 204 No\r\nA: a\u{1}b\u{7f}ü\r\n\r\n", ["204 No|A:a\u{1}b\u{7f}ü", "end"]),
        .whole(
            "HTTP/1.1 204 No\r\nX: \(String(repeating: "y", count: 1200))\r\nZ: 1\r\n\r\n",
            ["204 No|X:\(String(repeating: "y", count: 1200))|Z:1", "end"]),
        .whole(
            "HTTP/1.1 204 No\r\n" + (0..<60).map { "Name-\($0): value \($0)\r\n" }.joined() + "\r\n",
            ["204 No|" + (0..<60).map { "Name-\($0):value \($0)" }.joined(separator: "|"), "end"]),
    ]

    /// Heads by which two recipients could be led to read different messages.
    static let smuggling: [ResponseRow] =
        [
            "SSH-2.0-OpenSSH_9.2p1", "", "HTTP/1.1", "HTTP/1.1 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK",
            "HTTP/1.1 2x0 OK",
            "HTTP/1.1 -20 OK", "HTTP/1.1200 OK", "HTTP/9.9 200 OK", "Http/1.1 200 OK", "HTTP/1.2 200 OK",
            "HTTP/1.1  200 OK", "HTTP/1.1 200OK", " HTTP/1.1 200 OK", "HTTP/0.9 200 OK",
        ].map { .refused("\($0)\r\nContent-Length: 0\r\n\r\n", .head(.badStatusLine($0))) }
        + [
            .refused("HTTP/1.1 200 a\0b\r\n\r\n", .head(.badStatusLine("HTTP/1.1 200 a·b"))),
            .refused("HTTP/1.1 200 a\rb\r\n\r\n", .head(.badStatusLine("HTTP/1.1 200 a·b"))),
            .refused("HTTP/1.1\t200 OK\r\n\r\n", .head(.badStatusLine("HTTP/1.1·200 OK"))),
            .refused("HTTP/1.1 000 x\r\n\r\n", .head(.unexpectedStatus(0))),
            .refused("HTTP/1.1 099 x\r\n\r\n", .head(.unexpectedStatus(99))),
            .refused("HTTP/2 200\r\n\r\n", .head(.badStatusLine("HTTP/2 on a connection for HTTP/1.1"))),
        ]
        + [
            "no colon", ": no name", "na me: x", "name : x", "name\t: x", "größe: x", "na(me: x", "na/me: x",
            "\"name\": x", "HTTP/1.1 200 OK", " first: x", "\tfirst: x", "Content-Length : 5",
            "Transfer-Encoding : chunked", "Transfer-Encoding\u{b}: chunked",
        ].map {
            .refused(
                "\(ok)\($0)\r\n\r\n", .head(.badFieldLine($0.replacing("\t", with: "·").replacing("\u{b}", with: "·"))))
        }
        + [
            .refused(ok + "na\0me: x\r\n\r\n", .head(.badFieldLine("na·me: x"))),
            .refused(ok + "name: a\0b\r\n\r\n", .head(.badFieldLine("name: a·b"))),
            .refused(ok + "name: a\rb\r\n\r\n", .head(.badFieldLine("name: a·b"))),
            .refused(ok + "name: a\r\r\n\r\n", .head(.badFieldLine("name: a·"))),
            .refused(ok + "\rname: a\r\n\r\n", .head(.badFieldLine("·name: a"))),
            .refused(ok + "A: 1\r\n a\0b\r\n\r\n", .head(.badFieldLine(" a·b"))),
            .refused(ok + "Content-Length: 1\r\n 2\r\n\r\n", .head(.badFieldLine(" 2"))),
            .refused(ok + "Content-Length: 5, 5\r\n , 6\r\n\r\n", .head(.badFieldLine(" , 6"))),
            .refused(ok + "Transfer-Encoding:\r\n chunked\r\n\r\n", .head(.badFieldLine(" chunked"))),
            .refused(ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", .head(.conflictingContentLength)),
            .refused(ok + "Content-Length: 5, 6\r\n\r\n", .head(.conflictingContentLength)),
            .refused(ok + "Content-Length: 5\r\nX: y\r\ncontent-length: 6\r\n\r\n", .head(.conflictingContentLength)),
            .refused("HTTP/1.1 204 No\r\nContent-Length: 5, 6\r\n\r\n", .head(.conflictingContentLength)),
        ]
        + [
            "-1", "+5", "5.0", "0x5", "5 5", "5,", ",5", "5;", "1e3", "٥", "2a", "9223372036854775808",
            "18446744073709551616", "99999999999999999999999999999999",
        ].map { .refused("\(ok)Content-Length: \($0)\r\n\r\nhello", .head(.badContentLength($0))) }
        + [.refused(ok + "Content-Length:\r\n\r\nhello", .head(.badContentLength("")))]
        + [
            "gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked", "identity", "xchunked", "chunked;q=1", "",
            "chunked,", "\"chunked\"",
        ].map {
            .refused("\(ok)Transfer-Encoding: \($0)\r\n\r\n0\r\n\r\n", .head(.badFieldLine("Transfer-Encoding: \($0)")))
        }
        + [
            .refused(
                ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                .head(.badFieldLine("Transfer-Encoding: chunked, chunked"))),
            .refused(
                ok + "Content-Length: 3\r\nTransfer-Encoding: identity\r\n\r\nabc",
                .head(.badFieldLine("Transfer-Encoding: identity"))),
        ]

    /// Connections that end too early.
    static let cuts: [ResponseRow] = [
        .refused("", .emptyReply, "the server closed the connection without a response"),
        .refused("FOOBAR", .head(.badStatusLine("FOOBAR"))),
        .refused("H", .head(.cutShort)), .refused("HTTP/1.1 20", .head(.cutShort)), .refused(ok, .head(.cutShort)),
        .refused(ok + "Content-Length: 0\r\n", .head(.cutShort)),
        .refused("HTTP/1.1 103 Soon\r\n\r\n", .head(.cutShort), after: ["103 Soon"]),
        .refused(ok + "Content-Length: 9\r\n\r\n", .bodyCutShort, after: ["200 OK|Content-Length:9"], closed),
        .refused(
            ok + "Content-Length: 9\r\n\r\nbody", .bodyCutShort, after: ["200 OK|Content-Length:9", "“body”"], closed),
        .refused(chunked, .bodyCutShort, after: [chunkedHead], closed),
        .refused(chunked + "1", .bodyCutShort, after: [chunkedHead], closed),
        .refused(chunked + "4\r\nbo", .bodyCutShort, after: [chunkedHead, "“bo”"], closed),
        .refused(chunked + "4\r\nbody", .bodyCutShort, after: [chunkedHead, "“body”"], closed),
        .refused(chunked + "4\r\nbody\r\n0\r\n", .bodyCutShort, after: [chunkedHead, "“body”"], closed),
        .refused(chunked + "4\r\nbody\r\n0\r\nX: 1\r\n", .bodyCutShort, after: [chunkedHead, "“body”"], closed),
    ]
}
