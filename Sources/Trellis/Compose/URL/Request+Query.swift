public import FoundationEssentials

extension Request {
    /// Returns a copy with more items in the query of its URL, after the existing items, in this order:
    /// `request.addingQuery(["page": "2", "tag": "a", "tag": "b"])`.
    ///
    /// Names and values are percent-encoded. For numbers, arrays and structures see ``withParameters(_:encoder:)``.
    public func addingQuery(_ items: KeyValuePairs<String, String>) -> Request {
        addingQuery(items.map { URLQueryItem(name: $0.key, value: $0.value) })
    }

    /// Returns a copy with a list of items added to the query of its URL, after the existing items. Names and values are
    /// percent-encoded; an item without a value has no `=`.
    public func addingQuery(_ items: [URLQueryItem]) -> Request {
        modified { $0.url = URLQuery.appending(items.map(URLQuery.text).joined(separator: "&"), to: $0.url) }
    }
}
