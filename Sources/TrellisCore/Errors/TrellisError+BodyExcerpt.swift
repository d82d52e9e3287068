public import FoundationEssentials

extension TrellisError {
    /// The first bytes of a response's body, kept with an error to show the message of the server.
    public struct BodyExcerpt: Sendable, Hashable {
        /// The maximum size of ``data`` in bytes: 4 KiB.
        public static let limit = 4 << 10
        /// The maximum number of characters of the body in an error's description.
        static let shownLimit = 300

        /// The first bytes of the decoded body.
        public let data: Data
        /// Whether the body had more bytes than ``data``, or may have had more.
        public let isCut: Bool

        package init(_ body: Data, isCut: Bool = false) {
            // A copy: a slice would keep the complete body.
            data = Data([UInt8](body.prefix(Self.limit)))
            self.isCut = isCut || body.count > Self.limit
        }

        /// The bytes as text; `nil` if they are not UTF-8. A character that the cut has split is left out.
        public var text: String? {
            if let text = String(validating: data, as: UTF8.self) { return text }
            guard isCut else { return nil }
            // The cut may split a character of up to four bytes.
            return (1...3).lazy.compactMap { String(validating: data.dropLast($0), as: UTF8.self) }.first
        }

        /// Returns the start of the text as one line without control characters and without secrets, for messages; `nil` if there is no
        /// text.
        ///
        /// - Parameter type: The `Content-Type` of the body; empty if it has none.
        func line(ofType type: String) -> String? {
            guard let body = text, !body.isEmpty else { return nil }
            let shown = BodyRedaction.excerpt(body, type: type)
            let start = shown.prefix(Self.shownLimit)
            let words = start.split { $0.isWhitespace || $0.isNewline }.joined(separator: " ")
            let line = String(String.UnicodeScalarView(words.unicodeScalars.filter { !$0.isControl }))
            guard !line.isEmpty else { return nil }
            return start.endIndex < shown.endIndex || isCut ? line + "…" : line
        }
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is a control or format character.
    fileprivate var isControl: Bool {
        switch properties.generalCategory {
        case .control, .format: true
        default: false
        }
    }
}
