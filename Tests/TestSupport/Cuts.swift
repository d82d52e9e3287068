package import TrellisTesting

/// Functions that cut bytes into pieces.
package enum Cuts {
    /// Returns the bytes in two pieces, cut at every place; byte by byte; and as a whole.
    package static func all(_ bytes: [UInt8]) -> [[[UInt8]]] {
        (0...bytes.count).map { [Array(bytes[..<$0]), Array(bytes[$0...])] } + [bytes.map { [$0] }]
    }

    /// Returns the bytes in pieces of random lengths from zero to `longest`.
    package static func random(_ bytes: [UInt8], longest: Int, _ random: inout SeededGenerator) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Int.random(in: 0...min(longest, rest.count), using: &random)
            pieces.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces
    }

    /// Returns random bytes, many of which have a meaning to a machine.
    package static func bytes(of alphabet: [[UInt8]], upTo count: Int, _ random: inout SeededGenerator) -> [UInt8] {
        (0..<Int.random(in: 0...count, using: &random)).flatMap { _ in
            alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
        }
    }
}
