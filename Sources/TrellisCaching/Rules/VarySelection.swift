import CurlEngine
import HTTPTypes
import TrellisCore

/// The fields of a request with which the origin has selected a response (RFC 9111, section 4.1).
struct VarySelection: Hashable, Sendable {
    /// A field that `Vary` names.
    private struct Field: Hashable, Sendable {
        let name: HTTPField.Name
        /// The value of the request in a form that is equal for equivalent values; `nil` if the request has no such field.
        let value: TextBytes?
    }

    /// The largest number of fields of a response that is stored.
    private static let maximumCount = 64

    private let fields: [Field]

    /// The selection of a response without `Vary`, which answers every request.
    static let always = VarySelection(fields: [])

    private init(fields: [Field]) { self.fields = fields }

    /// Creates the selection of a response.
    ///
    /// - Returns: `nil` if the response answers no other request: its `Vary` has a `*`, something that is no field name,
    ///   or more than 64 names.
    init?(of response: HTTPFields, request: HTTPFields) {
        var fields: [Field] = []
        for line in response where line.name == .vary {
            for element in FieldScanner.elements(of: line.value) {
                let text = String(Substring(element.utf8.trimmingBlanks))
                if text.isEmpty { continue }
                guard !text.hasSameBytes(as: "*"), let name = HTTPField.Name(text) else { return nil }
                if fields.contains(where: { $0.name == name }) { continue }
                guard fields.count < Self.maximumCount else { return nil }
                fields.append(Field(name: name, value: Self.normalized(request, name)))
            }
        }
        self.fields = fields
    }

    /// The names of the fields.
    var names: [HTTPField.Name] { fields.map(\.name) }

    /// The names and values as a text, which is equal for equal selections.
    var text: String {
        if fields.isEmpty { return "" }
        return fields.map { field in
            let value = field.value.map { "\($0.text.utf8.count):\($0.text)" } ?? "-"
            return "\(field.name.canonicalName)=\(value)"
        }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.joined(separator: ";")
    }

    /// Returns whether another request has equivalent fields.
    func matches(_ request: HTTPFields) -> Bool {
        fields.allSatisfy { Self.normalized(request, $0.name) == $0.value }
    }

    /// Returns the value of a field without what makes no difference: the number of its lines, blanks around commas, and in
    /// `Accept-Language` and `Accept-Encoding` the case and all blanks, in the latter also the order of the elements. A comma counts also
    /// without an element: the field need not be a list.
    private static func normalized(_ request: HTTPFields, _ name: HTTPField.Name) -> TextBytes? {
        let lines = request[values: name]
        guard !lines.isEmpty else { return nil }
        let octets = request[fields: name].compactMap(\.octetsBeyondUTF8)
        // The text of other bytes than UTF-8 is not exact.
        guard octets.isEmpty else { return TextBytes("\(lines) \(octets)") }
        // Several lines are one value (RFC 9110, section 5.3).
        var elements = FieldScanner.elements(of: lines.joined(separator: ", "))
            .map { String(Substring($0.utf8.trimmingBlanks)) }
        if name == .acceptLanguage || name == .acceptEncoding {
            elements = elements.map { $0.lowercasedASCII().withoutBlanks }
        }
        // To some servers, the order of languages is one of preference (RFC 9110, section 12.5.4).
        if name == .acceptEncoding { elements.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
        return TextBytes(elements.joined(separator: ","))
    }
}
