/// What ends a line of text. The end is not part of the line.
public enum LineEnds: Sendable, Hashable, CaseIterable {
    /// LF, CRLF and CR: what text files, logs and most protocols use. The default.
    case standard
    /// LF and CRLF. A CR that stands elsewhere is part of its line, as NDJSON wants it.
    case lineFeed
    /// LF, CRLF, CR, and Unicode's NEL (U+0085), LINE SEPARATOR (U+2028) and PARAGRAPH SEPARATOR (U+2029), as they are in
    /// UTF-8. Section 5.8 of the Unicode Standard calls them the new line functions.
    case unicode
}
