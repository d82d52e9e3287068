import Testing

/// Returns the address of the memory of a dictionary or an array inside of a value. The address changes when the collection is
/// copied, at a cost in proportion to its count, and when the collection grows.
///
/// - Parameter path: The names of the stored properties that lead to the collection, `*` for the first value of a dictionary.
///   Optionals are unwrapped.
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
    // A standard collection is one reference, which an existential holds in its first word.
    return unsafe withUnsafeBytes(of: unwrapped(value)) { unsafe $0.load(as: UInt.self) }
}

private func unwrapped(_ value: Any) -> Any {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional, let some = mirror.children.first?.value else { return value }
    return unwrapped(some)
}
