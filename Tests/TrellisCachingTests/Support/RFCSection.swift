/// A section of a document that the row of a table is about, in the row's description.
struct RFCSection: Sendable, Hashable, CustomStringConvertible {
    /// The number of the document.
    let document: Int
    /// The number of the section, such as 4.2.2.
    let number: String

    var description: String { "RFC \(document) section \(number)" }

    /// Returns a section about semantics.
    static func rfc9110(_ number: String) -> RFCSection { RFCSection(document: 9110, number: number) }

    /// Returns a section about caching.
    static func rfc9111(_ number: String) -> RFCSection { RFCSection(document: 9111, number: number) }

    /// Returns a section about targeted fields.
    static func rfc9213(_ number: String) -> RFCSection { RFCSection(document: 9213, number: number) }

    /// Returns a section about stale responses.
    static func rfc5861(_ number: String) -> RFCSection { RFCSection(document: 5861, number: number) }

    /// Returns a section about immutable responses.
    static func rfc8246(_ number: String) -> RFCSection { RFCSection(document: 8246, number: number) }
}
