import CurlEngine
import Testing
import TrellisTesting

@testable import TrellisCore

/// Octets that are converted to text and back unchanged.
struct OctetTextTests {
    @Test(
        arguments: [
            ([], ""), (Array("a=ü €😀".utf8), "a=ü €😀"), ([0xfc], "\u{effc}"),
            ([0x61, 0x80, 0xff], "a\u{ef80}\u{efff}"),
            ([0xc3], "\u{efc3}"), ([0xc3, 0xbc, 0xc3], "ü\u{efc3}"), ([0xc0, 0x80], "\u{efc0}\u{ef80}"),
            // The UTF-8 bytes of a scalar that stands for an octet; half of a surrogate pair; a code point beyond the last one.
            ([0xee, 0xbf, 0xbc], "\u{efee}\u{efbf}\u{efbc}"), ([0xed, 0xa0, 0x80], "\u{efed}\u{efa0}\u{ef80}"),
            ([0xf4, 0x90, 0x80, 0x80], "\u{eff4}\u{ef90}\u{ef80}\u{ef80}"), ([0xee, 0x80, 0x80], "\u{e000}"),
        ] as [([UInt8], String)])
    func textOf(_ octets: [UInt8], _ text: String) {
        #expect(OctetText.text(octets).hasSameBytes(as: text))
        #expect(OctetText.octets(text) == octets)
        #expect(OctetText.count(text) == octets.count)
    }

    @Test(arguments: 0..<50)
    func anyOctetsComeOutAsTheyWere(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        // Octets at the beginning and at the end of long UTF-8 sequences are more frequent than others.
        let likely: [UInt8] = [0xee, 0xbe, 0xbf, 0x80, 0xc3, 0xf0, 0x9f, 0x41]
        var texts: [String: [UInt8]] = [:]
        for length in 0..<200 {
            let octets = (0..<length % 12).map { _ in
                Bool.random(using: &random)
                    ? likely.randomElement(using: &random) ?? 0 : UInt8.random(in: 0...255, using: &random)
            }
            let text = OctetText.text(octets)
            #expect(OctetText.octets(text) == octets)
            #expect(OctetText.count(text) == octets.count)
            #expect(texts.updateValue(octets, forKey: text).map { $0 == octets } ?? true)
        }
    }
}
