public import FoundationEssentials

extension TrellisError {
    /// The beginning of a response's body, kept with an error so that a person can see what the server said.
    public struct BodyExcerpt: Sendable, Hashable {
        /// How much is kept: 4 KiB.
        public static let limit = 4 << 10
        /// How much of it is shown in an error's sentence, in characters.
        static let shownLimit = 300

        /// The first bytes of the decoded body.
        public let data: Data
        /// There was more, or may have been.
        public let isCut: Bool

        init(_ body: Data, isCut: Bool = false) {
            // A copy: a slice would keep the whole body.
            data = Data([UInt8](body.prefix(Self.limit)))
            self.isCut = isCut || body.count > Self.limit
        }

        /// The bytes as text, as far as they are UTF-8; `nil` if they are something else.
        public var text: String? {
            if let text = String(validating: data, as: UTF8.self) { return text }
            guard isCut else { return nil }
            // The cut may go through a character of up to four bytes.
            return (1...3).lazy.compactMap { String(validating: data.dropLast($0), as: UTF8.self) }.first
        }

        /// One line without control characters, for messages.
        var line: String? {
            guard let text, !text.isEmpty else { return nil }
            let start = text.prefix(Self.shownLimit)
            let words = start.split { $0.isWhitespace || $0.isNewline }.joined(separator: " ")
            let line = String(String.UnicodeScalarView(words.unicodeScalars.filter { !$0.isControl }))
            guard !line.isEmpty else { return nil }
            return start.endIndex < text.endIndex || isCut ? line + "…" : line
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool {
        switch properties.generalCategory {
        case .control, .format: true
        default: false
        }
    }
}
