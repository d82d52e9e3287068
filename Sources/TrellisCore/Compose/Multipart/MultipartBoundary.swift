/// The boundary that separates the parts of a multipart body (RFC 2046, section 5.1.1).
enum MultipartBoundary {
    /// Returns a random boundary. A part contains the boundary with a probability of only one in 2^128 for each of the part's
    /// bytes.
    static func random() -> String {
        var random = SystemRandomNumberGenerator()
        let digits = (0..<2).map { _ in
            let number = String(random.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - number.count) + number
        }
        return "trellis-" + digits.joined()
    }

    /// Returns `true` if a text is a valid boundary. A space, which the RFC allows inside, is not valid here: many servers do not
    /// accept it.
    static func isValid(_ text: String) -> Bool {
        1...70 ~= text.utf8.count && text.utf8.allSatisfy { isTokenByte($0) || "(),/:=?".utf8.contains($0) }
    }

    /// Returns the boundary as the value of a parameter: in quotes if it is not a token (RFC 9110, section 5.6.2).
    static func parameter(_ boundary: String) -> String {
        boundary.utf8.allSatisfy(isTokenByte) ? boundary : "\"\(boundary)\""
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "'+_-.".utf8.contains(byte)
        }
    }
}
