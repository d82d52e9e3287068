import FoundationEssentials
import Testing

@testable import TrellisCore

/// The encoding of a text body, and the decoded text.
struct TextDecodingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let bytes: [UInt8]
        let type: String?
        let text: String
        init(_ bytes: [UInt8], _ type: String?, _ text: String) {
            (self.bytes, self.type, self.text) = (bytes, type, text)
        }
        init(_ utf8: String, _ type: String?, _ text: String) { self.init([UInt8](utf8.utf8), type, text) }
        var testDescription: String { "\(type ?? "no type"): \(text)" }
    }

    @Test(arguments: [
        // The encoding that the response declares.
        Row("héllo", "text/plain; charset=utf-8", "héllo"),
        Row("héllo", "text/plain; charset=UTF8", "héllo"),
        Row([0x68, 0xE9], "text/plain; charset=iso-8859-1", "hé"),
        // The standard reads ISO-8859-1 as windows-1252.
        Row([0x68, 0xE9, 0x80], #"text/plain; charset="Latin1""#, "hé€"),
        Row([0x80, 0x99, 0xE9, 0x81], "text/plain; charset=windows-1252", "€™é\u{81}"),
        Row([0x9F, 0xA0, 0xFF], "text/plain; charset=cp1252", "Ÿ\u{A0}ÿ"),
        Row("hello", "text/plain; charset=us-ascii", "hello"),
        Row([0x68, 0, 0xE9, 0], "text/plain; charset=utf-16le", "hé"),
        Row([0, 0x68, 0, 0xE9], "text/plain; charset=utf-16be", "hé"),
        // UTF-16 is big-endian without a byte order mark (RFC 2781, section 4.3).
        Row([0, 0x68, 0, 0xE9], "text/plain; charset=utf-16", "hé"),
        Row([0xFE, 0xFF, 0, 0x68], "text/plain; charset=utf-16", "h"),
        Row([0xFF, 0xFE, 0x68, 0], "text/plain; charset=utf-16", "h"),
        Row([0xFF, 0xFE, 0x68, 0], "text/plain; charset=utf-16le", "h"),
        Row([0x3D, 0xD8, 0x42, 0xDE], "text/plain; charset=utf-16le", "🙂"),
        Row([0, 0, 0, 0x68], "text/plain; charset=utf-32be", "h"),
        // Legacy encodings, by labels of the WHATWG Encoding Standard.
        Row([0xC4, 0xE3, 0xBA, 0xC3], "text/plain; charset=GBK", "你好"),
        Row([0xC4, 0xE3], "text/plain; charset=gb2312", "你"),
        Row([0x82, 0xB1, 0x82, 0xF1], "text/plain; charset=Shift_JIS", "こん"),
        Row([0x87, 0x40], "text/plain; charset=shift_jis", "①"),
        Row([0xA4, 0xB3, 0xA4, 0xF3], "text/plain; charset=euc-jp", "こん"),
        Row([0xBE, 0xC8], "text/plain; charset=ks_c_5601-1987", "안"),
        Row([0xA7, 0x41], "text/plain; charset=big5", "你"),
        Row([0xCF, 0xF0, 0xE8], "text/html; charset=windows-1251", "При"),
        Row([0xF0, 0xD2], "text/plain; charset=koi8-r", "Пр"), Row([0xB1], "text/plain; charset=latin2", "ą"),
        Row([0x1B, 0x24, 0x42, 0x25, 0x46], "text/plain; charset=iso-2022-jp", "テ"),
        Row([0x41], "text/plain; charset=windows-1258", "A"),
        Row([0xA4], "text/plain; charset=iso-8859-15", "€"), Row([0xFD], "text/plain; charset=latin5", "ı"),
        // A byte that begins no character, and one whose character does not end.
        Row([0x61, 0xFF, 0x62], "text/plain; charset=gbk", "a\u{FFFD}b"),
        Row([0x61, 0xC4], "text/plain; charset=gbk", "a\u{FFFD}"),
        // A byte order mark overrides the declared encoding, and is no part of the text.
        Row([0xEF, 0xBB, 0xBF, 0xC3, 0xA9], "text/plain; charset=iso-8859-1", "é"),
        Row([0xEF, 0xBB, 0xBF, 0x68], nil, "h"),
        Row([0xFF, 0xFE, 0x68, 0], nil, "h"),
        Row([0xFE, 0xFF, 0, 0x68], "text/plain; charset=utf-8", "h"),
        // A missing encoding: UTF-8, or windows-1252 where the bytes are not UTF-8.
        Row("héllo", nil, "héllo"), Row("héllo", "text/plain", "héllo"),
        Row("héllo", "nonsense", "héllo"), Row([0x68, 0xE9, 0x93], nil, "hé“"),
        // A byte order mark tells the encoding of a text whose declared one is unknown, and nothing is the same in any.
        Row([0xEF, 0xBB, 0xBF, 0xC3, 0xA9], "text/plain; charset=klingon", "é"),
        Row("", "text/plain; charset=klingon", ""),
        // A declared encoding that the bytes do not match.
        Row("héllo", "text/plain; charset=us-ascii", "héllo"),
        Row([0x68, 0xE9], "text/plain; charset=utf-8", "hé"),
        Row([0x68, 0xE9], "text/plain; charset=us-ascii", "hé"),
        Row([0x68, 0, 0xE9], "text/plain; charset=utf-16le", "h\u{0}é"),
        Row("", "text/plain; charset=utf-16", ""),
    ])
    func theEncodingIsFound(_ row: Row) async throws {
        let answer = Answer.test(type: row.type, body: Data(row.bytes))
        let text = try await answer.read(.string)
        // The comparison is by scalars, not by characters, which would hide differences.
        #expect(text.unicodeScalars.elementsEqual(row.text.unicodeScalars))
    }

    @Test(
        arguments: [
            (.isoLatin1, [0xC3, 0xA9], "Ã©"), (.utf8, [0xC3, 0xA9], "é"), (.utf8, [0xEF, 0xBB, 0xBF, 0x68], "h"),
            (.utf8, [0xE9], nil), (.ascii, [0xC3, 0xA9], nil), (.ascii, [0x68], "h"), (.windowsCP1252, [0x80], "€"),
            (.utf16LittleEndian, [0x68], nil), (.utf16LittleEndian, [0x00, 0xD8], nil),
            (.utf16BigEndian, [0xDE, 0x42], nil),
            (.utf16, [0xFF, 0xFE, 0x68, 0x00], "h"), (.utf32LittleEndian, [0x68, 0, 0, 0], "h"),
            // A byte order mark of another encoding is text.
            (.isoLatin1, [0xEF, 0xBB, 0xBF], "ï»¿"),
            (.symbol, [0x68], nil),
        ] as [(String.Encoding, [UInt8], String?)])
    func theOneThatWasAskedForIsTakenOrNone(_ encoding: String.Encoding, _ bytes: [UInt8], _ text: String?) async {
        let answer = Answer.test(type: "text/plain; charset=utf-8", body: Data(bytes))
        let result = await Result { () async throws in try await answer.read(.string(encoding: encoding)) }
        switch result {
        case .success(let found): #expect(found == text)
        case .failure(let error):
            #expect(text == nil)
            #expect(
                (error as? TrellisError)?.reason == .serializationFailed(.text(encoding: "\(encoding)")))
        }
    }

    /// The bytes of these encodings are other text, or look like ASCII, in the encodings that are supported.
    @Test(
        arguments: [
            ("hz-gb-2312", [0x7E, 0x7B, 0x56, 0x50]), ("\"iso-2022-kr\"", [0x0E, 0x39]), ("klingon", [0x68, 0x69]),
        ] as [(String, [UInt8])])
    func anEncodingThatIsNotSupportedIsAnError(_ charset: String, _ bytes: [UInt8]) async {
        let answer = Answer.test(type: "text/html; charset=\(charset)", body: Data(bytes))
        let error = await #expect(throws: TrellisError.self) { try await answer.read(.string) }
        let name = charset.filter { $0 != "\"" }
        #expect(error?.reason == .serializationFailed(.text(encoding: name)))
        #expect(error?.kind == .serialization)
    }

    /// WHATWG HTML, section 13.2.3.2. The byte 0xCF is П in windows-1251, and Ï in windows-1252.
    @Test(
        arguments: [
            ("<meta charset=windows-1251>", true), ("<!DOCTYPE html><html><META CharSet = 'Windows-1251' />", true),
            (#"<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">"#, true),
            (#"<meta content="text/html; charset=windows-1251" http-equiv=content-type>"#, true),
            ("<!-- <meta charset=koi8-r> --><meta charset=windows-1251>", true),
            ("<!--><meta charset=windows-1251>", true), ("<<meta charset=windows-1251>", true),
            ("<meta charset=klingon><meta charset=windows-1251>", true),
            ("<meta charset=windows-1251 charset=koi8-r>", true), ("<meta charset=' windows-1251\t'>", true),
            (#"<meta http-equiv=content-type content="text/html charset = windows-1251; x">"#, true),
            (#"<meta http-equiv=content-type content="charset charset='windows-1251' ">"#, true),
            (#"<meta http-equiv=content-type content="charset='windows-1251">"#, false),
            ("<meta charset=utf16> ", false), ("<meta charset=utf-32>  ", false),
            ("<a =\"<meta charset=koi8-r>\"><meta\ncharset=cp1251>", true),
            ("<a title='<meta charset=windows-1251>'>", false), ("</meta charset=windows-1251>", false),
            ("<meta charset=' windows-1251 '>", true), ("<meta charset=utf-32><meta charset=windows-1251>", true),
            ("<meta charset=utf-8>", false), ("<meta charset=utf-16>", false), ("<metal charset=windows-1251>", false),
            // These have an even number of bytes with the one that follows.
            ("<meta charset=utf16 >", false), ("<meta charset=csutf16le >", false),
            ("<meta content='text/html; charset=windows-1251'>", false), ("<!-- <meta charset=windows-1251>", false),
            (String(repeating: " ", count: 1020) + "<meta charset=windows-1251>", false), ("<meta charset=", false),
            ("<", false),
            ("<meta charset='windows-1251", false),
        ] as [(String, Bool)])
    func theEncodingOfHTMLIsFound(_ head: String, _ isFound: Bool) async throws {
        func text(_ type: String) async throws -> String {
            String(
                try await Answer.test(type: type, body: Data(head.utf8 + [0xCF])).read(.string).dropFirst(head.count))
        }
        #expect(try await text("text/html") == (isFound ? "П" : "Ï"))
        #expect(try await text("Text/HTML; charset=koi8-r") == "о")
        #expect(try await text("text/plain") == "Ï")
    }

    @Test func aSliceIsReadFromItsOwnStart() {
        let slice = Data([0, 0, 0xEF, 0xBB, 0xBF, 0x68]).dropFirst(2)
        #expect(TextDecoding.text(slice, charset: nil) == "h")
        #expect(TextDecoding.text(Data([0, 0xFF, 0xFE, 0x68, 0]).dropFirst(), charset: nil) == "h")
    }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
