extension ObjectIdentifier {
    /// Creates the identity of an object; fails for a value that is not an object.
    ///
    /// A cast of a protocol's value to `AnyObject` takes some 2,500 instructions on Linux, because it looks for a bridged type.
    package init?<Value>(ofObject value: Value) {
        guard Value.self is AnyClass else { return nil }
        // The value of a class type is a reference to its object.
        self.init(unsafe unsafeBitCast(value, to: AnyObject.self))
    }
}
