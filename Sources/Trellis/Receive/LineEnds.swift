/// The character sequences that end a line of text. The end is not part of the line.
public enum LineEnds: Sendable, Hashable, CaseIterable {
    /// LF, CRLF and CR, as text files, logs and most protocols use them. The default.
    case standard
    /// LF and CRLF. A CR elsewhere is part of its line, as NDJSON requires.
    case lineFeed
    /// LF, CRLF, CR, and Unicode's NEL (U+0085), LINE SEPARATOR (U+2028) and PARAGRAPH SEPARATOR (U+2029), as encoded in UTF-8.
    /// Section 5.8 of the Unicode Standard calls them the new line functions.
    case unicode
}
