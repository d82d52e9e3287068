import Foundation
import Testing

/// The parts of `multipart/form-data`.
@Suite(.timeLimit(.minutes(60))) struct PartTests {
    private let folder: TemporaryFolder
    private let numbers: String

    init() throws {
        folder = try TemporaryFolder()
        numbers = try folder.write("[1, 2]", to: "numbers.json")
    }

    /// The parts that the server has received, each with its fields, or the body if it does not have the form of parts.
    private static func parts(of run: Run) throws -> [String] {
        let type = try #require(run.field("X-Content-Type"))
        let start = "multipart/form-data; boundary="
        #expect(type.hasPrefix(start))
        let mark = "\r\n--\(type.dropFirst(start.count))"
        let parts = "\r\n\(run.bodyText)".components(separatedBy: mark)
        guard parts.first == "", parts.last == "--\r\n" else { return [run.bodyText] }
        #expect(parts.dropFirst().dropLast().allSatisfy { $0.utf8.starts(with: "\r\n".utf8) })
        return parts.dropFirst().dropLast().map { String(decoding: $0.utf8.dropFirst(2), as: UTF8.self) }
    }

    @Test func valuesAndFilesAreParts() async throws {
        let note = try folder.write("some text", to: "note;1.txt")
        let run = try await report([
            "\(url)/mirror", "--part", "a=1=2;type=x/y", "--part", "a=", "--part", "file=@\(note)",
            "--part", "other=@\(note);type=text/x-note;charset=utf-8;filename=x;y.md", "--part", "json=@\(numbers)",
        ])
        let start = "Content-Disposition: form-data; name="
        #expect(
            try Self.parts(of: run) == [
                "\(start)\"a\"\r\n\r\n1=2;type=x/y", "\(start)\"a\"\r\n\r\n",
                "\(start)\"file\"; filename=\"note;1.txt\"\r\nContent-Type: text/plain\r\n\r\nsome text",
                "\(start)\"other\"; filename=\"x;y.md\"\r\nContent-Type: text/x-note;charset=utf-8\r\n\r\nsome text",
                "\(start)\"json\"; filename=\"numbers.json\"\r\nContent-Type: application/json\r\n\r\n[1, 2]",
            ])
    }

    @Test func quotesInANameAreEncoded() async throws {
        let run = try await report(["\(url)/mirror", "--part", #"f=@\#(numbers);filename=ä "q".txt"#])
        #expect(run.bodyText.contains(#"name="f"; filename="ä %22q%22.txt""#))
    }

    @Test func partsFromTheStandardInputAndAPipe() async throws {
        let script = #""$trellis" "$1" --report json --part f=@- --part "p=@"<(printf piped)"#
        let run = try await shell(script, ["\(url)/mirror"], input: .file(numbers))
        let contents = try Self.parts(of: run).map { $0.components(separatedBy: "\r\n\r\n").last }
        #expect(contents == ["[1, 2]", "piped"])
    }

    @Test func partsHaveALength() async throws {
        let file = try folder.write(Data(count: 300_000), to: "file")
        let run = try await client(["\(url)/request", "--part", "f=@\(file)", "--part", "a=b"])
        let lengths = run.lines.starting(with: "Content-Length: ")
        #expect(lengths.count == 1)
        #expect(lengths.first?.wholeMatch(of: /Content-Length: 300[0-9]*/) != nil)
    }

    @Test func aMissingFileOrAFolderIsNoPart() async throws {
        let missing = try await report(["\(url)/mirror", "--part", "f=@\(folder["missing"])"], status: 1)
        #expect(missing.report.values("error.kind", "status") == ["file", .null])
        let run = try await report(["\(url)/mirror", "--part", "f=@\(folder.path)"], status: 1)
        #expect(run.report["error"]["kind"] == "file")
    }
}
