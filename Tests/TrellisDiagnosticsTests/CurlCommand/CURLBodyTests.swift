import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCore
@testable import TrellisDiagnostics

/// The body options of the curl command line, and the input that curl reads.
@Suite(.timeLimit(.minutes(3)))
struct CURLBodyTests {
    private static func command(
        _ body: RequestBody, _ compression: RequestCompression? = nil
    ) -> String {
        var request = Request("http://localhost/", method: .post, body: body)
        request.compression = compression
        return request.cURLDescription(.init(revealingSecrets: true))
    }

    @Test(arguments: [
        ("a=b&c", "--data-binary"), ("it's\n\"here\"\t$x", "--data-binary"), ("@file", "--data-raw"),
        ("", "--data-binary"),
        ("Grüße \u{1F33F}", "--data-binary"), ("-x", "--data-binary"),
    ])
    func textIsAnArgument(_ text: String, _ option: String) async {
        let (arguments, input) = await Shell.curl(called: Self.command(.string(text, contentType: nil)))
        #expect(arguments == ["--header", "Content-Type:", option, text, "http://localhost/"])
        #expect(input.isEmpty)
    }

    /// A text that begins with `@` is not given to `--data-binary`, which would read a file, also where a scalar joins the `@`.
    @Test(arguments: JoiningScalars.all)
    func noTextNamesAFile(_ scalar: Unicode.Scalar) async {
        let text = "@\(scalar)/etc/passwd"
        let (arguments, _) = await Shell.curl(called: Self.command(.string(text, contentType: nil)))
        #expect(
            arguments.map(\.bytes)
                == ["--header", "Content-Type:", "--data-raw", text, "http://localhost/"].map(\.bytes))
    }

    @Test(arguments: JoiningScalars.all)
    func aPathIsNoOption(_ scalar: Unicode.Scalar) {
        #expect(CURLForm.path("-\(scalar)x").bytes == "./-\(scalar)x".bytes)
    }

    @Test(arguments: JoiningScalars.all)
    func theSecretsOfAFormAreLeftOut(_ scalar: Unicode.Scalar) {
        let type = "application/x-www-form-urlencoded"
        for body in ["a=1&\(scalar)token=abc", "token=\(scalar)abc"] {
            for type in [type, "\(type)\(scalar)"] {
                let request = Request("http://localhost/", method: .post, body: .string(body, contentType: type))
                #expect(!request.cURLDescription().utf8.contains("abc".utf8))
            }
        }
    }

    /// Characters that end a quoted value of `--form` are escaped, also where a scalar joins the character.
    @Test(arguments: JoiningScalars.all)
    func aFormsQuotesAreEscaped(_ scalar: Unicode.Scalar) {
        var form = MultipartFormData()
        form.append(Data("\"\(scalar);type=a/b\\\(scalar)".utf8), withName: "n", mimeType: "x/y")
        let expected = "n=\"\\\"\(scalar);type=a/b\\\\\(scalar)\";type=x/y"
        #expect(CURLForm(form).arguments.map { $0.map(\.bytes) } == [["--form", expected].map(\.bytes)])
    }

    /// Control characters, zeros and texts above 128 KiB go through a pipe: a terminal would act on control characters, and an
    /// argument can hold no zeros and no more than 128 KiB.
    @Test(arguments: [[0], [0xFF, 0xFE], [UInt8]("a\u{1B}[2Jb".utf8), [UInt8](repeating: 65, count: 110_000)])
    func otherBytesComeThroughAPipe(_ bytes: [UInt8]) async {
        let command = Self.command(.data(Data(bytes), contentType: "x/y"))
        #expect(command.utf8.allSatisfy { 0x20..<0x7F ~= $0 })
        let (arguments, input) = await Shell.curl(called: command)
        #expect(arguments == ["--header", "Content-Type: x/y", "--data-binary", "@-", "http://localhost/"])
        #expect(input == bytes)
    }

    @Test(arguments: [("/tmp/a b.txt", "@/tmp/a b.txt"), ("-", "@./-"), ("it's", "@it's")])
    func aFileIsNamed(_ path: String, _ argument: String) async {
        let arguments = await Shell.curl(called: Self.command(.file(path))).arguments
        #expect(arguments.dropLast().last == argument)
    }

    @Test func aStreamIsARemark() async {
        let command = Self.command(.stream(AsyncStream<Data> { $0.finish() }, contentType: "x/y"))
        #expect(command.contains(" # "))
        #expect(await Shell.curl(called: command).arguments.dropLast().suffix(2) == ["--data-binary", "@-"])
    }

    @Test func aLargeBodyCanBeLeftOut() async {
        var options = CURLDescriptionOptions()
        options.maximumBodySize = .bytes(10)
        let request = Request("http://localhost/", method: .post, body: .string("eleven byte"))
        let command = request.cURLDescription(options)
        #expect(!command.contains("eleven"))
        #expect(command.contains("11 bytes"))
        #expect(await Shell.curl(called: command).arguments.contains("@-"))
    }

    @Test(arguments: [RequestBody.string("same same same"), .file("/tmp/trellis-curl-body")])
    func aCompressedBodyGoesThroughGzip(_ body: RequestBody) async throws {
        try Data("same same same".utf8).write(to: URL(filePath: "/tmp/trellis-curl-body"))
        let (arguments, input) = await Shell.curl(called: Self.command(body, .gzip) + " | cat")
        #expect(arguments.contains("Content-Encoding: gzip"))
        #expect(arguments.dropLast().suffix(2) == ["--data-binary", "@-"])
        #expect(input.prefix(2) == [0x1F, 0x8B])
    }

    // MARK: Forms

    private static func form(_ build: (inout MultipartFormData) -> Void) async -> [String] {
        var form = MultipartFormData(boundary: "B")
        build(&form)
        return await Shell.curl(called: command(.multipart(form))).arguments.dropLast()
    }

    @Test func partsAreOptions() async {
        let arguments = await Self.form { form in
            form.append("@it's; \"x\"", withName: "text")
            form.append(Data("a;\"b\\".utf8), withName: "typed", mimeType: "text/x; charset=utf-8")
            form.append(Data("c".utf8), withName: "named", fileName: "c\".txt")
            form.append(fileAt: "/tmp/a, \"b.png", withName: "file")
            form.append(fileAt: "-", withName: "dash", fileName: "d.png", headers: [.contentLanguage: "de"])
            form.append(
                .multipartMixed([.init(.file("/e.css")), .init(.string("f", contentType: nil))]), withName: "mix")
        }
        let expected = [
            ("--form-string", "text=@it's; \"x\""),
            ("--form", "typed=\"a;\\\"b\\\\\";type=text/x; charset=utf-8"),
            ("--form", "named=\"c\";type=text/plain;filename=\"c\\\".txt\""),
            ("--form", "file=@\"/tmp/a, \\\"b.png\";type=image/png"),
            ("--form", "dash=@\"./-\";type=image/png;filename=\"d.png\";headers=\"Content-Language: de\""),
            ("--form", "mix=(;type=multipart/mixed"), ("--form", "=@\"/e.css\";type=text/css"), ("--form-string", "=f"),
            ("--form", "=)"),
        ]
        #expect(arguments == expected.flatMap { [$0.0, $0.1] })
    }

    /// The limit applies to the sum of the parts in memory, those of inner forms included.
    @Test(arguments: [(29, false), (30, true)]) func aLargeFormCanBeLeftOut(_ limit: Int, _ isShown: Bool) async {
        var form = MultipartFormData(boundary: "B")
        form.append("ten bytes.", withName: "a")
        form.append(
            .multipartMixed([.init(.string("ten bytes.")), .init(.string("ten bytes."))], boundary: "C"),
            withName: "mix")
        var options = CURLDescriptionOptions()
        options.maximumBodySize = .bytes(limit)
        let request = Request("http://localhost/", method: .post, body: .multipart(form))
        let command = request.cURLDescription(options)
        #expect(command.contains("ten bytes.") == isShown && command.contains("30 bytes, is not shown") != isShown)
        let arguments = await Shell.curl(called: command).arguments
        #expect(arguments.contains("Content-Type: multipart/form-data; boundary=B") != isShown)
    }

    /// A type at which curl stops, or which curl reads as another one, becomes a remark.
    @Test(arguments: ["json", "a/", "/b", "a/b/c", "a b/c", "a/b, c/d", "a/b;filename=x", "a/b; Type=c/d", "a/b\tc"])
    func aTypeThatCURLDoesNotReadIsARemark(_ type: String) {
        var form = MultipartFormData()
        form.append(fileAt: "/tmp/x", withName: "n", mimeType: type)
        let command = CURLForm(form)
        #expect(command.arguments == [] && command.remarks == ["curl cannot say the part named \"n\""])
    }

    /// A part whose quoted argument exceeds 128 KiB, the limit of an argument, is printed: each of the bytes takes two in curl's
    /// quotes.
    @Test func aPartThatIsTooLongInQuotesIsPrinted() {
        var form = MultipartFormData(boundary: "B")
        form.append(Data(repeating: UInt8(ascii: "\""), count: 70_000), withName: "n", mimeType: "a/b")
        let command = CURLForm(form)
        #expect(command.arguments == [] && command.remarks == ["the part named \"n\" is too long for an argument"])
        let isPrinted = Self.command(.multipart(form)).utf8.starts(with: "printf '\\055-B".utf8)
        #expect(isPrinted)
    }

    /// A form that curl's options cannot express is given as the encoded body.
    @Test(arguments: [("a=b", [65]), ("a", [0, 255])] as [(String, [UInt8])])
    func aFormInMemoryThatCurlCannotSayIsPrinted(_ name: String, _ content: [UInt8]) async throws {
        var form = MultipartFormData(boundary: "B")
        form.append(Data(content), withName: name)
        let command = Self.command(.multipart(form))
        let (arguments, input) = await Shell.curl(called: command)
        #expect(arguments.contains("Content-Type: multipart/form-data; boundary=B"))
        let body = input.isEmpty ? [UInt8]((arguments.dropLast().last ?? "").utf8) : input
        #expect(Data(body) == (try await form.encode()))
        #expect(!command.contains(" # "))
    }

    @Test func whatCannotBeSaidAtAllIsARemark() {
        var form = MultipartFormData()
        form.append("x", withName: "a=b")
        form.append(fileAt: "/tmp/x", withName: "file")
        #expect(Self.command(.multipart(form)).contains(" # curl cannot say the part named \"a=b\""))
        #expect(Self.command(.multipart(form), .gzip).contains("compress the body"))
    }
}
