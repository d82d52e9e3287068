import Testing

@testable import TrellisCore

/// The media types of file names.
struct MIMETypesTests {
    private static let types = MIMETypes(
        mimeTypes: "# a comment\n\ntext/x-one\t\tone ONCE # two\ntext/plain\nnonsense three\nbad type/x four\n",
        globs: """
            # another
            80:text/x-heavy:*.two
            50:text/x-light:*.two
            50:text/x-glob:*.one
            50:text/x-flag:*.Flag:cs
            50:text/x-name:Makefile
            broken
            """)

    @Test(arguments: [
        ("a.one", "text/x-one"), ("a.once", "text/x-one"), ("A.ONE", "text/x-one"), ("a.b.one", "text/x-one"),
        ("a.two", "text/x-heavy"), ("a.flag", "text/x-flag"), (".one", "text/x-one"), ("a.png", "image/png"),
        ("a.three", nil), ("a.four", nil), ("Makefile", nil), ("one", nil), ("a.", nil), ("", nil), ("a.one/b", nil),
        ("a.tar.gz", "application/gzip"),
    ])
    func theLastExtensionDecides(_ name: String, _ type: String?) {
        #expect(Self.types.type(ofFileNamed: name) == type)
    }

    @Test func withoutTheSystemsTablesThereAreOwn() {
        #expect(MIMETypes(mimeTypes: "", globs: "").type(ofFileNamed: "a.JPG") == "image/jpeg")
    }

    @Test(arguments: [("a.html", "text/html"), ("a.jpg", "image/jpeg"), ("a.pdf", "application/pdf")])
    func theSystemKnowsTheUsualOnes(_ name: String, _ type: String) {
        #expect(MIMETypes.system.type(ofFileNamed: name) == type)
    }
}
