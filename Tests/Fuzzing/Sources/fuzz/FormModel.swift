import FoundationEssentials

@testable import TrellisCore

/// The pairs of a value, computed in the simplest way.
struct FormModel {
    /// The error of a value that cannot be a form.
    struct Impossible: Error {}

    struct Pair: Equatable, CustomStringConvertible {
        let name: String
        let value: String?

        /// Texts are equal if their bytes are equal.
        static func == (one: Pair, other: Pair) -> Bool {
            one.name.utf8.elementsEqual(other.name.utf8) && (one.value == nil) == (other.value == nil)
                && (one.value ?? "").utf8.elementsEqual((other.value ?? "").utf8)
        }

        var description: String { "\(name.debugDescription): \(value?.debugDescription ?? "-")" }
    }

    let encoder: URLEncodedFormEncoder
    private var pairs: [Pair] = []

    private init(_ encoder: URLEncodedFormEncoder) { self.encoder = encoder }

    static func pairs(of value: FormValue, _ encoder: URLEncodedFormEncoder) throws -> [Pair] {
        var model = FormModel(encoder)
        try model.add(value, FormPlace())
        return model.pairs
    }

    /// Adds the pairs of a value.
    ///
    /// - Parameter isOpen: Whether the value is written to an encoder or a container that already exists.
    private mutating func add(_ value: FormValue, _ place: FormPlace, isOpen: Bool = false) throws {
        let place = isOpen ? place : try place.written()
        switch value {
        case .nothing: break
        case .null: addNull(place)
        case .bool, .integer, .wide, .double, .float, .decimal, .text, .url:
            try add(text(of: value), place.called().written())
        case .data(let data): try add(data, place.called().written())
        case .date(let date): try add(date, place.called().written())
        case .array(let elements): try add(elements, place.called().written())
        case .list(let elements): try add(elements, place, isOpen: true)
        case .object(let members): try add(members, place)
        case .dictionary(let members): try add(members.map { ($0, $1) }, place.called().written())
        case .numbered(let members): try add(members.map { ("\($0)", $1) }, place.called().written())
        case .optional(nil): addNull(try place.called().written())
        case .optional(let value?): try add(value, place.called().written().called())
        case .wrapped(let value, let times):
            let inner = try (0...times).reduce(place) { place, _ in try place.called().written() }
            try add(value, inner, isOpen: true)
        case .twice: throw Impossible()
        }
    }

    private mutating func addNull(_ place: FormPlace) {
        if let text = nilText, let name = place.name { pairs.append(Pair(name: name, value: text)) }
    }

    private mutating func add(_ text: String, _ place: FormPlace) throws {
        guard let name = place.name else { throw Impossible() }
        pairs.append(Pair(name: name, value: text))
    }

    private mutating func add(_ data: Data, _ place: FormPlace) throws {
        if let text = try text(of: data) { return try add(text, place) }
        try addEmpty(place, data.isEmpty)
        for (index, byte) in data.enumerated() { try add("\(byte)", place.element(index, encoder).written()) }
    }

    private mutating func add(_ date: Date, _ place: FormPlace) throws {
        if let text = try text(of: date) { return try add(text, place) }
        try add(date.timeIntervalSinceReferenceDate.description, place.called().written())
    }

    private mutating func add(_ elements: [FormValue], _ place: FormPlace, isOpen: Bool = false) throws {
        try addEmpty(place, elements.isEmpty)
        for (index, element) in elements.enumerated() {
            try add(element, place.element(index, encoder), isOpen: isOpen && element.isNothing)
        }
    }

    private mutating func addEmpty(_ place: FormPlace, _ isEmpty: Bool) throws {
        guard let name = place.name else { throw Impossible() }
        if isEmpty, let text = emptyArrayName(name) { pairs.append(Pair(name: text, value: nil)) }
    }

    /// Adds members. The last of several members with the same key replaces the first, at its place.
    private mutating func add(_ members: [FormValue.Member], _ place: FormPlace) throws {
        var kept: [FormValue.Member] = []
        for member in members {
            if let index = kept.firstIndex(where: { $0.key == member.key }) {
                // A member can fail even if it is replaced.
                var other = self
                try other.add([(kept[index].key, kept[index].value)], place) { _ in kept[index].isOpen }
                kept[index] = FormValue.Member(key: kept[index].key, way: member.way, value: member.value)
            } else {
                kept.append(member)
            }
        }
        try add(kept.map { ($0.key, $0.value) }, place) { kept[$0].isOpen }
    }

    private mutating func add(
        _ members: [(key: String, value: FormValue)], _ place: FormPlace, isOpen: (Int) -> Bool = { _ in false }
    ) throws {
        var members = members.enumerated().map { index, member in
            (
                written: encoder.keyEncoding.encode(member.key), key: member.key, value: member.value,
                isOpen: isOpen(index)
            )
        }
        if encoder.alphabetizeKeyValuePairs {
            members.sort { Self.precedes($0.written, $1.written) ?? Self.precedes($0.key, $1.key) ?? false }
        }
        for member in members { try add(member.value, place.member(member.written, encoder), isOpen: member.isOpen) }
    }

    /// Returns the order of two texts by Unicode scalars; `nil` if the texts are equal.
    private static func precedes(_ one: String, _ other: String) -> Bool? {
        let (one, other) = (Array(one.unicodeScalars), Array(other.unicodeScalars))
        return one == other ? nil : one.lexicographicallyPrecedes(other)
    }
}
