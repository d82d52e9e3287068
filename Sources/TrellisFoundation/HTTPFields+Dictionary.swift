import HTTPTypes

extension HTTPFields {
    /// Returns one value for each name, in the spelling of its first field: the values of fields that repeat a name are joined in
    /// their order.
    func joinedValues(where isIncluded: (HTTPField.Name) -> Bool = { _ in true }) -> [String: String] {
        var spellings: [String: String] = [:]
        return reduce(into: [:]) { values, field in
            guard isIncluded(field.name) else { return }
            let spelling = spellings[field.name.canonicalName] ?? field.name.rawName
            spellings[field.name.canonicalName] = spelling
            // A request has a single `Cookie` field, in which cookies are separated by semicolons (RFC 6265, section 4.2.1).
            let separator = field.name == .cookie ? "; " : ", "
            values[spelling] = values[spelling].map { $0 + separator + field.value } ?? field.value
        }
    }
}
