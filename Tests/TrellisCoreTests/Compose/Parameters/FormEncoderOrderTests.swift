import FoundationEssentials
import Testing

@testable import TrellisCore

/// Sorted keys have one order, for every key encoding.
struct FormEncoderOrderTests {
    @Test func keysAreInTheOrderOfTheirScalarsComposedOrNot() throws {
        let members = ["e\u{301}": 1, "f": 2, "\u{E8}": 3, "\u{10000}": 4, "\u{FFFD}": 5]
        let text = try URLEncodedFormEncoder().encode(members)
        #expect(text == "e%CC%81=1&f=2&%C3%A8=3&%EF%BF%BD=5&%F0%90%80%80=4")
    }

    /// The order of a dictionary differs in every process.
    @Test(
        arguments: [.custom { _ in "k" }, .convertToSnakeCase] as [URLEncodedFormEncoder.KeyEncoding])
    func keysThatBecomeTheSameAreInTheOrderThatTheyHadBefore(_ encoding: URLEncodedFormEncoder.KeyEncoding) throws {
        let words = (0..<256).map { bits in (0..<8).map { bits >> $0 & 1 == 0 ? "a_k" : "aK" }.joined() }
        let members = Dictionary(words.map { ($0, $0) }) { first, _ in first }
        let text = try URLEncodedFormEncoder(keyEncoding: encoding).encode(members)
        let values = text.split(separator: "&").map { String($0.drop { $0 != "=" }.dropFirst()) }
        #expect(values == members.keys.sorted())
    }
}
