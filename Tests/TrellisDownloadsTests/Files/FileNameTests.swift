import Testing

@testable import TrellisCore
@testable import TrellisDownloads

/// The file names that servers suggest.
struct FileNameTests {
    @Test(
        arguments: [
            (#"attachment; filename="a.txt""#, "a.txt"),
            (#"attachment; filename=a.txt"#, "a.txt"),
            (#"attachment;filename=a.txt;x=y"#, "a.txt"),
            (#"inline ; FileName = "a b.txt" ; size=5"#, "a b.txt"),
            (#"attachment; filename="semi;colon.txt""#, "semi;colon.txt"),
            (#"attachment; filename="quo\"te.txt""#, #"quo"te.txt"#),
            (#"attachment; filename="C:\dir\a.txt""#, #"C:\dir\a.txt"#),
            (#"attachment; filename="unclosed.txt"#, "unclosed.txt"),
            (#"attachment; filename*=UTF-8''%e2%82%ac%20rates.txt"#, "€ rates.txt"),
            (#"attachment; filename*=iso-8859-1'en'%A3%20rates.txt"#, "£ rates.txt"),
            (#"attachment; filename="plain.txt"; filename*=UTF-8''better.txt"#, "better.txt"),
            (#"attachment; filename*=UTF-8''better.txt; filename="plain.txt""#, "better.txt"),
            (#"attachment; filename="plain.txt"; filename*=UTF-7''worse.txt"#, "plain.txt"),
            (#"attachment; filename="plain.txt"; filename*=UTF-8''%zz"#, "plain.txt"),
            (#"attachment; filename="plain.txt"; filename*=UTF-8''%+1%1"#, "plain.txt"),
            (#"attachment; filename="plain.txt"; filename*=UTF-8''%ff"#, "plain.txt"),
            (#"attachment; filename="plain.txt"; filename*=better.txt"#, "plain.txt"),
            (#"attachment; filename="first"; filename="second""#, "first"),
            (#"attachment; xfilename="a""#, nil),
            ("attachment", nil), ("", nil), (";;;", nil), ("attachment; filename", nil),
            ("attachment; filename=", ""),
        ] as [(String, String?)])
    func disposition(_ text: String, _ name: String?) { #expect(ContentDisposition(text).fileName == name) }

    @Test(
        arguments: [
            ("a.txt", "a.txt"), ("../../etc/passwd", "passwd"), ("/etc/passwd", "passwd"), (#"..\..\a.txt"#, "a.txt"),
            (#"C:\dir\a.txt"#, "a.txt"), ("C:a.txt", "a.txt"), ("a\0b.txt", "ab.txt"),
            ("a\r\nb\u{1B}[0m.txt", "ab[0m.txt"),
            (".bashrc", "bashrc"), ("...hidden", "hidden"), (" . .x", "x"), ("a.txt. . ", "a.txt"),
            ("exe\u{202E}gpj.exe", "exegpj.exe"), ("a\u{2028}b", "ab"), ("naïve 文件.txt", "naïve 文件.txt"),
            ("-rf", "-rf"),
            ("a/b/", nil), ("", nil), (".", nil), ("..", nil), ("/", nil), ("\0", nil), ("   ", nil), ("C:", nil),
            ("a/..", nil), (#"a\.."#, nil),
        ] as [(String, String?)])
    func harmless(_ suggestion: String, _ name: String?) { #expect(FileName(suggestion)?.text == name) }

    @Test(arguments: [
        (String(repeating: "a", count: 10_240) + ".tar.gz", String(repeating: "a", count: 197) + ".gz"),
        (String(repeating: "é", count: 500), String(repeating: "é", count: 100)),
        ("." + String(repeating: "b", count: 300), String(repeating: "b", count: 200)),
        (String(repeating: "\u{301}", count: 100_000), String(repeating: "\u{301}", count: 100)),
        (String(repeating: "../", count: 10_000) + "end.txt", "end.txt"),
    ])
    func longNamesAreCut(_ suggestion: String, _ name: String) { #expect(FileName(suggestion)?.text == name) }

    @Test(
        arguments: [
            (nil, "http://a.example/b/c.iso?d=e/f#g", "c.iso"),
            (nil, "http://a.example/b/", "b"),
            (nil, "http://a.example", "download"),
            (nil, "http://a.example/", "download"),
            (nil, "http://a.example/%2e%2e%2f%2e%2e", "download"),
            (nil, "http://a.example/a%20b.txt", "a b.txt"),
            (nil, "http://a.example/a%2Fetc%2Fpasswd", "passwd"),
            (nil, "http://a.example/bad%zz", "bad%zz"),
            ("attachment; filename=\"..\"", "http://a.example/c.iso", "c.iso"),
            ("attachment; filename=\"x/y.iso\"", "http://a.example/c.iso", "y.iso"),
        ] as [(String?, String, String)])
    func suggested(_ disposition: String?, _ url: String, _ name: String) {
        #expect(FileName.suggested(disposition: disposition, url: url).text == name)
    }
}
