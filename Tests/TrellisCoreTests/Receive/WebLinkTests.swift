import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The links in the `Link` fields of a response (RFC 8288).
struct WebLinkTests {
    private static let page = "https://api.example.com/v1/items?page=2"

    private static func links(_ fields: String...) -> WebLinks {
        var headers = HTTPFields()
        for field in fields { headers.append(HTTPField(name: .link, value: field)) }
        return Response(head: ResponseHead(status: .ok, headers: headers), url: page).links
    }

    @Test func aListOfPagesIsRead() {
        let links = Self.links(
            #"<https://api.example.com/v1/items?page=3>; rel="next", <https://api.example.com/v1/items?page=9>; rel="last""#,
            "<https://api.example.com/v1/items?page=1>;rel=first")
        #expect(links.count == 3)
        #expect(links["next"]?.url == "https://api.example.com/v1/items?page=3")
        #expect(links["LAST"]?.url == "https://api.example.com/v1/items?page=9")
        #expect(links["first"]?.url == "https://api.example.com/v1/items?page=1")
        #expect(links["prev"] == nil)
        #expect(links.map(\.relations) == [["next"], ["last"], ["first"]])
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let field: String
        /// The targets, each with its relations.
        let expected: [String]

        init(_ field: String, _ expected: String...) { (self.field, self.expected) = (field, expected) }

        var testDescription: String { field }
    }

    @Test(arguments: [
        // Relative targets.
        Row("<?page=3>; rel=next", "https://api.example.com/v1/items?page=3 next"),
        Row("<../other>; rel=up", "https://api.example.com/other up"),
        Row("</a/./b/../c>; rel=x", "https://api.example.com/a/c x"),
        Row("<//cdn.example.com/x>; rel=x", "https://cdn.example.com/x x"),
        Row("<>; rel=self", "https://api.example.com/v1/items?page=2 self"),
        Row("< /b >; rel=x", "https://api.example.com/b x"),
        Row("<mailto:ann@example.com>; rel=author", "mailto:ann@example.com author"),
        // Marks within a target and within quotation marks.
        Row("</a,b;c>; rel=x, </d>; rel=y", "https://api.example.com/a,b;c x", "https://api.example.com/d y"),
        Row(
            #"</a>; title="1, <b>; rel=z"; rel=x, </c>; rel=y"#, "https://api.example.com/a x",
            "https://api.example.com/c y"),
        Row(#"</a>; title="a \"quoted\" word"; rel=x"#, "https://api.example.com/a x"),
        // Relations.
        Row(#"</a>; rel="next  Last""#, "https://api.example.com/a next,last"),
        Row(#"</a>; rel=x; rel=y"#, "https://api.example.com/a x"),
        Row(#"</a>; rel="https://example.com/rel#A""#, "https://api.example.com/a https://example.com/rel#a"),
        Row("</a>", "https://api.example.com/a "),
        Row("</a>; rel", "https://api.example.com/a "),
        Row("</a>; rel=", "https://api.example.com/a "),
        Row("</a>; rel*=UTF-8''next", "https://api.example.com/a "),
        // Blanks and empty elements.
        Row(" , ,</a> ; rel = x ,, </b>\t;\trel=y , ", "https://api.example.com/a x", "https://api.example.com/b y"),
        Row("</a>; ; ;rel=x;", "https://api.example.com/a x"),
        Row("</a>;REL=Next", "https://api.example.com/a next"),
        Row("</a>; crossorigin; rel=x", "https://api.example.com/a x"),
        Row("</a>; crossorigin , </b>; rel=x", "https://api.example.com/a ", "https://api.example.com/b x"),
        // Malformed fields: what came before counts.
        Row(""), Row(","), Row("x"), Row("</a; rel=x"), Row("/a; rel=x"), Row("rel=x"),
        Row("</a>; rel=x, /b; rel=y, </c>; rel=z", "https://api.example.com/a x"),
        Row("</a>; rel=x </b>; rel=y", "https://api.example.com/a x </b>"),
        Row(#"</a>; rel="x"junk, </b>; rel=y"#, "https://api.example.com/a x"),
        Row(#"</a>; rel="x, </b>; rel=y"#, "https://api.example.com/a x,,</b>;,rel=y"),
        Row(#"</a>; title="x\"#, "https://api.example.com/a "),
        Row("</a> </b>; rel=x", "https://api.example.com/a "),
        Row("</a>; =x; rel=y", "https://api.example.com/a y"),
    ])
    func aFieldIsReadAsFarAsItIsWellFormed(_ row: Row) {
        let found = Self.links(row.field).map { "\($0.url) \($0.relations.joined(separator: ","))" }
        // A blank within an unquoted value separates relations.
        #expect(found == row.expected.map { $0.replacing("x </b>", with: "x,</b>") })
    }

    @Test func parametersAreRead() {
        let link = Self.links(
            #"</a>; rel=x; title=plain; Title="second"; type="text/html"; flag; title*=UTF-8'de'n%c3%a4chstes"#)[0]
        #expect(link["title"] == "n\u{e4}chstes")
        #expect(link["TYPE"] == "text/html")
        #expect(link["flag"] == "")
        #expect(link["media"] == nil)
        #expect(Self.links(#"</a>; title=plain; title="second""#)[0]["title"] == "plain")
    }

    @Test(arguments: ["UTF-8''%zz", "UTF-8''%ff", "KOI8-R''a", "a", "UTF-8'a"])
    func aMalformedExtendedValueDoesNotCount(_ value: String) {
        #expect(Self.links("</a>; title=plain; title*=\(value)")[0]["title"] == "plain")
    }

    @Test func latin1IsAnExtendedValueToo() {
        #expect(Self.links("</a>; title*=ISO-8859-1''%e4")[0]["title"] == "\u{e4}")
    }

    /// A link of another resource is not the next page of this one.
    @Test func aLinkWithAnAnchorIsNotTheResponses() {
        let links = Self.links("</evil>; rel=next; anchor=\"/other\", </a>; rel=next")
        #expect(links["next"]?.url == "https://api.example.com/a")
        #expect(links[0].anchor == "https://api.example.com/other")
        #expect(Self.links("</b>; rel=next; anchor=\"\(Self.page)\"")["next"]?.url == "https://api.example.com/b")
    }

    /// Any bytes are read to an end, and no link is longer than its field and its base.
    @Test(arguments: 0..<UInt64(Scale.count(20, all: 2000)))
    func randomFieldsAreRead(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let pieces = [
            "<", ">", ";", ",", "=", "\"", "\\", " ", "rel", "*", "next", "/a", "?b", "'", "%", "UTF-8''", "\u{e9}",
            "\t",
        ]
        for _ in 0..<50 {
            let field = (0..<Int.random(in: 0..<24, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }
            .joined()
            for link in WebLinkParser.links(in: field, of: Self.page) {
                #expect(link.url.utf8.count <= field.utf8.count + Self.page.utf8.count)
                #expect(!link.relations.contains(""))
            }
        }
    }
}
