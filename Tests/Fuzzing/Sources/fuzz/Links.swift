@testable import TrellisCore

/// Checks that any `Link` field is read to an end, and that the relations of a link that is written again are the same.
func fuzzLinks(_ input: FuzzInput) {
    let base = "https://a.example/b/c?d#e"
    let text = String(decoding: input.body, as: UTF8.self)
    for link in WebLinkParser.links(in: text, of: base) {
        expect(link.url.utf8.count <= text.utf8.count + base.utf8.count, "a URL that is longer than its field")
        var quoted: [UInt8] = []
        for relation in link.relations {
            let isWhole = !relation.isEmpty && !relation.utf8.contains { $0 == 0x20 || $0 == 0x09 }
            expect(isWhole, "the relation \(relation)")
            for byte in relation.utf8 {
                if byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "\"") { quoted.append(UInt8(ascii: "\\")) }
                quoted.append(byte)
            }
            quoted.append(0x20)
        }
        let field = "<> ; REL = \"\(String(decoding: quoted, as: UTF8.self))\""
        let again = WebLinkParser.links(in: field, of: base)
        expect(again.count == 1 && again[0].relations == link.relations, "\(link.relations) are \(again)")
    }
}
