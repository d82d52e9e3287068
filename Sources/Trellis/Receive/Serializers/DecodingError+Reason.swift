extension DecodingError {
    /// The failure and its coding path, in few words.
    var reason: String {
        let (context, key): (Context, (any CodingKey)?) =
            switch self {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                (context, nil)
            case .keyNotFound(let key, let context): (context, key)
            @unknown default: (Context(codingPath: [], debugDescription: "\(self)"), nil)
            }
        let what = key.map { "there is no \"\($0.stringValue)\"" } ?? context.debugDescription
        let path = context.codingPath.reduce(into: "") { path, key in
            path += key.intValue.map { "[\($0)]" } ?? (path.isEmpty ? key.stringValue : ".\(key.stringValue)")
        }
        return path.isEmpty ? what : "at \(path): \(what)"
    }
}
