import Testing

/// The address of the memory that a dictionary or an array inside of a value lives in. It changes when the collection is copied, which
/// costs as much as it has elements, and when it grows.
///
/// - Parameter path: The names of the stored properties that lead there, `*` for the first value of a dictionary. Optionals are
///   looked through.
func storageAddress(_ path: String..., in value: Any) throws -> UInt {
    var value = value
    for name in path {
        let children = Mirror(reflecting: unwrapped(value)).children
        if name == "*" {
            let entry = try #require(children.first?.value, "it is empty")
            value = try #require(Mirror(reflecting: entry).children.first { $0.label == "value" }?.value)
        } else {
            value = try #require(children.first { $0.label == name }?.value, "there is no \(name)")
        }
    }
    // A standard collection is one reference, which an existential has in its first word.
    return unsafe withUnsafeBytes(of: unwrapped(value)) { unsafe $0.load(as: UInt.self) }
}

private func unwrapped(_ value: Any) -> Any {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional, let some = mirror.children.first?.value else { return value }
    return unwrapped(some)
}
