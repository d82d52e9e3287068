import Foundation
import Testing

/// Methods, targets, fields and bodies of requests. `/request` describes what the server has received.
@Suite(.timeLimit(.minutes(60))) struct RequestTests {
    @Test(arguments: [
        (["/request/gr%C3%BCn?q=1"], "GET /request/gr%C3%BCn?q=1"),
        (["/request/grün und blau"], "GET /request/gr%C3%BCn%20und%20blau"),
        (["delete", "/request"], "DELETE /request"),
        (["-X", "PURGE", "/request"], "PURGE /request"),
        (["PUT", "/request", "-d", "-x"], "PUT /request"),
    ])
    func theMethodAndTheTarget(_ arguments: [String], _ wanted: String) async throws {
        let run = try await client(arguments.map { $0.hasPrefix("/") ? url + $0 : $0 })
        #expect(run.lines.first == wanted)
    }

    @Test func fieldsAreInOrder() async throws {
        let run = try await client([
            "\(url)/request", "-H", "X-A: 1", "-H", "x-b:2", "-H", "X-A: 3", "-H", "User-Agent: me",
        ])
        #expect(run.lines.starting(with: "X-", "User") == ["X-A: 1", "x-b: 2", "X-A: 3", "User-Agent: me"])
    }

    @Test func aBodyMakesAPOSTWithItsLengthAndTheTypeOfAForm() async throws {
        let run = try await client(["\(url)/request", "-d", "a=1"])
        #expect(run.lines.first == "POST /request")
        let type = "Content-Type: application/x-www-form-urlencoded"
        #expect(run.lines.starting(with: "Content-Type") == [type])
        #expect(run.lines.starting(with: "Content-Length") == ["Content-Length: 3"])
    }

    /// Each script has the URL and a file.
    @Test(arguments: [
        #""$trellis" "$1" -d "@$2""#, #""$trellis" "$1" -d @- <"$2""#, #"cat "$2" | "$trellis" "$1" -d @-"#,
        #""$trellis" "$1" -d @<(cat "$2")"#,
    ])
    func aBodyFromAFileOrAPipe(_ script: String) async throws {
        let folder = try TemporaryFolder()
        let bytes = Data((0..<300_000).map { _ in UInt8.random(in: 0...255) })
        let run = try await shell("\(script) | cat", ["\(url)/echo", try folder.write(bytes, to: "file")])
        #expect(run.output == bytes)
    }

    @Test func aServerOnAUnixSocket() async throws {
        let run = try await client(["\(Fixture.unix.line)/", "--unix-socket", Fixture.socket])
        #expect(run.text == "hello world")
    }
}

/// A mark, such as a colon or an `@`, that is joined with an accent to one character is still a mark.
@Suite(.timeLimit(.minutes(60))) struct AccentTests {
    @Test func theMarksOfAFieldAndOfAQuery() async throws {
        let run = try await client(["\(url)/request", "-H", "X-A:\u{301}a", "--query", "q=\u{301}b"])
        #expect(run.lines.starting(with: "GET", "X-A") == ["GET /request?q=%CC%81b", "X-A: \u{301}a"])
    }

    @Test func theMarkOfAFile() async throws {
        let run = try await client(["\(url)/echo", "-d", "@\u{301}missing"])
        #expect(run.status == 23)
        #expect(run.errors.lines(with: "missing").count == 1)
    }

    @Test func theNameOfAPartsFile() async throws {
        let file = try TemporaryFolder().write("piped", to: "\u{301}x")
        let run = try await report(["\(url)/mirror", "--part", "f=@\(file)"])
        #expect(run.body?.range(of: Data("filename=\"\u{301}x\"".utf8)) != nil)
    }

    @Test func theQuoteOfAShell() async throws {
        let run = try await client(["--curl", "\(url)/", "-H", "X-A: a'\u{301}; echo injected #"])
        let shell = try await tool("sh", ["-c", "curl() { :; }; \(run.text)"])
        #expect(!"\(shell.text)\(shell.errors)".contains("injected"))
    }
}
