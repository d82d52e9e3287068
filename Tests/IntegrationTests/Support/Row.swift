import Testing
import Trellis

/// A row of a table: the response of a server, and its end.
struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    let answer: String
    var ending = Ending.keepOpen

    init(_ name: String, _ answer: String, then ending: Ending = .keepOpen) {
        self.name = name
        self.answer = answer
        self.ending = ending
    }

    var testDescription: String { ending == .keepOpen ? name : "\(name), then \(ending)" }
}

/// A text that is shown escaped, because it contains control characters.
struct Escaped: Sendable, ExpressibleByStringLiteral, CustomTestStringConvertible {
    let text: String

    init(stringLiteral text: String) { self.text = text }

    var testDescription: String { text.debugDescription }
}
