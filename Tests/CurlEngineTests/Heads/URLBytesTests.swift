import Testing

@testable import CurlEngine

/// URLs and paths are read as bytes: one character of Swift may be two bytes with separate meanings, and texts that are equal in Swift may
/// differ.
struct URLBytesTests {
    private static func bytes(_ text: String?) -> [UInt8]? { text.map { [UInt8]($0.utf8) } }

    @Test func anEquivalentSpellingIsAnotherURLOfTheCache() throws {
        let cache = WireURLCache()
        #expect(try cache.url(parsing: "http://a.example/K").text == "http://a.example/K")
        // The kelvin sign is equal to a K in Swift.
        #expect(try cache.url(parsing: "http://a.example/\u{212A}").text == "http://a.example/%E2%84%AA")
        #expect(try cache.url(parsing: "http://a.example/?a;b").text == "http://a.example/?a;b")
        #expect(try cache.url(parsing: "http://a.example/?a\u{37E}b").text == "http://a.example/?a%CD%BEb")
    }

    /// A separator is found even if a joining character follows it. A variation selector is not part of an international name, but joins
    /// the character before it.
    @Test(arguments: ["\u{FE0F}", "\u{200D}", "\u{301}"])
    func aMarkJoinedWithWhatFollowsIsStillAMark(_ joiner: String) {
        for scheme in ["ftp", "gopher"] {
            #expect(throws: WireURL.ParseFailure.unsupportedScheme(scheme)) {
                try WireURL(parsing: "\(scheme)://\(joiner)a.example/")
            }
        }
        let url = try? WireURL(parsing: "http://a.example/\(joiner)a?\(joiner)b=\(joiner)#\(joiner)")
        let encoded = joiner.utf8.map { "%" + String($0, radix: 16, uppercase: true) }.joined()
        #expect(url?.text == "http://a.example/\(encoded)a?\(encoded)b=\(encoded)")
    }

    @Test func userInformationEndsAtItsByte() throws {
        let url = try WireURL(parsing: "http://ann:secret@\u{FE0F}a.example:81/")
        #expect(url.text == "http://a.example:81/")
        #expect(url.host == "a.example" && url.user == "ann" && url.password == "secret" && url.port == 81)
    }

    @Test func aNameEndsAtTheByteOfItsPort() {
        #expect(throws: WireURL.ParseFailure.self) { try WireURL(parsing: "http://b\u{FC}cher.example:\u{301}80/") }
    }

    @Test(arguments: ["\u{301}x", "\u{200D}x", "x"])
    func aFolderEndsAtItsLastSlash(_ name: String) {
        #expect(FileSystem.folder(of: "/tmp/a/\(name)") == "/tmp/a")
        #expect(FileSystem.folder(of: "/\(name)") == "/")
        #expect(Self.bytes(FileSystem.folder(of: "a\(name)/b")) == Self.bytes("a\(name)"))
    }
}
