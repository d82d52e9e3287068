package import TrellisTesting

/// Scalars that join the scalar before them to one `Character`, and scalars that Swift considers equal to one of ASCII.
package enum JoiningScalars {
    package static let all: [Unicode.Scalar] = [
        "\u{301}", "\u{200D}", "\u{FE0F}", "\u{20DD}", "\u{1F3FD}", "\u{E0020}",
    ]

    /// Returns texts of marks, letters and line ends with random joining scalars in between.
    package static func text(_ marks: String, upTo count: Int, using random: inout SeededGenerator) -> String {
        let scalars =
            Array(marks.unicodeScalars) + all + ["a", "é", "\u{65}", "\r", "\n", "\u{1F33F}", "\u{37E}", "\u{212A}"]
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...count, using: &random) {
            text.append(scalars[Int.random(in: 0..<scalars.count, using: &random)])
        }
        return String(text)
    }
}

extension StringProtocol {
    /// The UTF-8 bytes, for comparisons in which two spellings of one text must differ.
    package var bytes: [UInt8] { [UInt8](utf8) }
}
